//! `checker grade` and `checker merge`: a class.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::class::compile::Shared;
use crate::class::erase;
use crate::class::export::{self, Column, Format, Gradebook, Identical, Person, Timelines};
use crate::class::grading::{self, Plan, drawing_of};
use crate::class::kit::Kit;
use crate::class::late::{self, Policy};
use crate::class::one::Bench;
use crate::class::record::{Reason, Row};
use crate::class::replacements;
use crate::class::roster::Roster;
use crate::class::similar;
use crate::class::store::{self, Earlier, Store};
use crate::class::submission::{Class, Handed, Wanted};
use crate::class::took::{self, Took};
use crate::class::worker::{self, Setting};
use crate::cli;
use crate::device::Simulated;
use crate::exercise::{self, Exercise, Place};
use crate::exit::{Exit, Usage};
use crate::grade::Verdict;
use crate::print::{self, Style};
use crate::sandbox::{Required, Sandbox};
use crate::scratch::{self, Scratch};
use crate::stage::Indicator;
use crate::workspace::Workspace;

/// Grades a class.
pub(super) fn grade(arguments: &cli::Grade) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let exercises = exercises(&workspace, &arguments.exercises)?;
    let mut class = Class::open(&arguments.folder)?;
    let mut notes = class.notes.clone();
    let roster = arguments.report.roster()?;
    if let Some(roster) = &roster {
        notes.extend(differences(roster, &class));
        let members = roster.members.iter();
        class.enrol(members.map(|(id, member)| (id.as_str(), member.name.as_deref())));
    }
    let lateness = Lateness::read(arguments)?;
    let earlier = if arguments.resume { Earlier::Resumed } else { Earlier::Refused };
    let store = Store::open(&arguments.out, earlier)?;
    let sandbox = match (arguments.sandbox, arguments.accept_risk) {
        (cli::SandboxChoice::Off, true) => Sandbox::off(),
        (cli::SandboxChoice::Off, false) => {
            return Err(Usage("`--sandbox off` needs `--accept-risk`".to_owned()).into());
        }
        (cli::SandboxChoice::Auto, _) => Sandbox::probe(match arguments.require_sandbox {
            true => Required::Full,
            false => Required::Floor,
        })?,
    };

    scratch::sweep();
    let staged = Scratch::passable()?;
    let places: Vec<Place> = exercises.iter().map(|exercise| exercise.place.clone()).collect();
    let indicator = Indicator::start();
    let kit = Kit::stage(&workspace, &places, staged.path(), &|stage| indicator.tell(stage))?;
    drop(indicator);
    let setting = Setting {
        kit: kit.clone(),
        exercises: places.iter().map(|place| place.folder.clone()).collect(),
        profile: arguments.profile.clone(),
        sandbox: sandbox.clone(),
    };
    let shared = Shared { kit: Arc::new(kit), sandbox: Arc::new(sandbox) };
    let device = Simulated::named(arguments.profile.as_deref())?;
    let bench = |exercise: &Exercise| Bench::new(exercise.clone(), shared.clone(), device.clone());
    let benches = exercises.iter().map(bench).collect::<Result<Vec<_>>>()?;

    let ids: Vec<String> = class.ids().map(str::to_owned).collect();
    let in_shard = |id: &str| arguments.shard.is_none_or(|shard| shard.holds(id));
    let students: Vec<usize> = (0..class.len()).filter(|&number| in_shard(&ids[number])).collect();
    let start = Instant::now();
    let plan = Plan {
        workspace: &workspace,
        setting: &setting,
        benches: &benches,
        store: &store,
        jobs: arguments.jobs.unwrap_or_else(cores),
        budget_s: arguments.budget,
        progress: &|done, total| print::progress(&format!("graded {done} of {total}")),
    };
    let wanted: Vec<Wanted> = places.iter().map(Wanted::of).collect();
    let mut prints = Prints::new(&workspace, &places);
    let mut times = BTreeMap::new();
    let graded = grading::grade(&plan, &students, |number| {
        let student = class.read(number, &wanted);
        let said = student.notes.iter().map(|note| format!("{}: {note}", student.id));
        notes.extend(said);
        times.extend(student.at.map(|at| (student.id.clone(), at)));
        if arguments.shard.is_none() {
            prints.add(&student.id, &student.handed);
        }
        student
    });
    print::progress("");
    let grading::Graded { mut rows, run, took, late } = graded?;
    let graded_s = start.elapsed().as_secs_f64();
    for row in &mut rows {
        lateness.charge(row, times.get(&row.student).copied(), roster.as_ref());
    }
    if let Some(path) = &arguments.replace {
        replace(path, &mut rows)?;
    }
    let written = store.write_rows(&rows, arguments.shard)?;
    let wall_s = start.elapsed().as_secs_f64();
    let noted = store.write_notes(&notes, arguments.shard)?;
    let mut alike = 0;
    if arguments.shard.is_none() {
        store.drop_parts()?;
        alike = prints.write(&store)?;
        report(&arguments.report, &store, &rows, roster.as_ref(), &exercises, arguments.look)?;
    }
    print::err(&format!(
        "{} of {} in {wall_s:.1} s, {run} of them run; `{}`\n",
        count(rows.len(), "exercise"),
        count(students.len(), "student"),
        written.display()
    ));
    if arguments.timings {
        let rows = rows.len();
        let timings = Timings { graded_s, wall_s, rows, took, late, kib: took::own_kib() };
        print::err(&format!("timings {}\n", serde_json::to_string(&timings)?));
    }
    if arguments.shard.is_none() {
        tell_reports(&store);
    }
    if alike > 0 {
        let pairs = count(alike, "pair");
        print::err(&format!("{pairs} of similar files; `{}`\n", store.similar().display()));
    }
    tell_notes(&notes, &noted);
    Ok(exit(&rows))
}

/// What grading a class took: a line for a benchmark to read.
#[derive(Serialize)]
struct Timings {
    /// From the first file to the last.
    graded_s: f64,
    /// With the writing of the rows.
    wall_s: f64,
    rows: usize,
    took: Took,
    late: Took,
    /// Most memory that this process has had.
    kib: u64,
}

/// Puts parts of a class into one.
pub(super) fn merge(arguments: &cli::Merge) -> Result<Exit> {
    let store::Together { rows, notes } = store::read_parts(&arguments.folders)?;
    let rows = store::merge(rows)?;
    let store = Store::open(&arguments.out, Earlier::Resumed)?;
    for folder in &arguments.folders {
        store.take_drawings(folder)?;
    }
    let written = store.write_rows(&rows, None)?;
    let noted = store.write_notes(&notes, None)?;
    let exercises = match Workspace::find() {
        Ok(workspace) => self::exercises(&workspace, &[])?,
        Err(_) => Vec::new(), // then the names have to do
    };
    let roster = arguments.report.roster()?;
    report(&arguments.report, &store, &rows, roster.as_ref(), &exercises, arguments.look)?;
    print::err(&format!("{}; `{}`\n", count(rows.len(), "exercise"), written.display()));
    tell_reports(&store);
    tell_notes(&notes, &noted);
    Ok(exit(&rows))
}

fn tell_reports(store: &Store) {
    let folder = store.reports();
    if folder.is_dir() {
        print::err(&format!("reports in `{}`\n", folder.display()));
    }
}

fn tell_notes(notes: &[String], noted: &Path) {
    if !notes.is_empty() {
        print::err(&format!("{}; `{}`\n", count(notes.len(), "note"), noted.display()));
    }
}

/// `1 note`, `2 notes`.
fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// Takes a student's data out of a class's folder, and writes the reports anew.
pub(super) fn forget(arguments: &cli::Forget) -> Result<Exit> {
    let rows = store::read_rows(&arguments.out)?;
    let student = &arguments.student;
    if rows.iter().all(|row| row.student != *student) {
        let message = format!("`{}` holds nothing of `{student}`", arguments.out.display());
        return Err(Usage(message).into());
    }
    let store = Store::open(&arguments.out, Earlier::Resumed)?;
    let own = erase::only_of(&store.holdings(&rows)?, student);
    let removed = erase::remove(&arguments.out, &own)?;
    let others: Vec<Row> = rows.into_iter().filter(|row| row.student != *student).collect();
    store.write_rows(&others, None)?;
    store.forget(student)?;
    let exercises = match Workspace::find() {
        Ok(workspace) => self::exercises(&workspace, &[])?,
        Err(_) => Vec::new(), // then the names have to do
    };
    let roster = arguments.report.roster()?;
    // The summary is not what was asked for.
    for path in removed {
        print::out(&format!("removed {}\n", path.display()));
    }
    let reports = reports(&arguments.report, &store, &others, roster.as_ref(), &exercises)?;
    print::err(&format!("{} written anew\n", count(reports.len(), "report")));
    print::err(&format!("{BESIDES}\n"));
    Ok(Exit::Passed)
}

const BESIDES: &str = "hint: what was handed in, tables of your own, and reports in formats that were not named \
                       now are still where they were";

/// What the rows come to for whoever started the command: that somebody failed is no trouble.
fn exit(rows: &[Row]) -> Exit {
    let has = |verdict| rows.iter().any(|row| row.verdict == verdict);
    match () {
        () if has(Verdict::Error) => Exit::Error,
        () if has(Verdict::Inconclusive) => Exit::Inconclusive,
        () => Exit::Passed,
    }
}

/// As many as there are cores.
fn cores() -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u16::try_from(cores).unwrap_or(u16::MAX).min(cli::MOST_JOBS)
}

fn exercises(workspace: &Workspace, wanted: &[String]) -> Result<Vec<Exercise>> {
    if wanted.is_empty() {
        let places = exercise::all(workspace)?;
        return places.into_iter().map(|place| place.open(workspace)).collect();
    }
    let mut exercises: Vec<Exercise> = Vec::new();
    for wanted in wanted {
        let exercise = exercise::find(workspace, wanted)?;
        if exercises.iter().all(|other| other.place.id != exercise.place.id) {
            exercises.push(exercise);
        }
    }
    exercises.sort_by_key(|exercise| exercise.place.number);
    Ok(exercises)
}

/// Where roster and submissions differ, in words.
fn differences(roster: &Roster, class: &Class) -> Vec<String> {
    let unused = roster.unused.iter();
    let unused = unused.map(|column| format!("the roster's column `{column}` says nothing here"));
    let compared = roster.compare(class.ids());
    let unknown = compared.unknown.into_iter().map(|unknown| match unknown.resembles {
        Some(other) => format!("{}: not on the roster, on which `{other}` is", unknown.id),
        None => format!("{}: not on the roster", unknown.id),
    });
    let missing = compared.missing.into_iter().map(|id| format!("{id}: handed in nothing"));
    unused.chain(unknown).chain(missing).collect()
}

/// When things came in, and what that costs.
struct Lateness {
    policy: Option<Policy>,
    /// As the instructor says; it goes before what a platform says.
    times: BTreeMap<String, jiff::Timestamp>,
}

impl Lateness {
    fn read(arguments: &cli::Grade) -> Result<Self> {
        let policy = match (arguments.deadline, arguments.late) {
            (Some(deadline), Some(rule)) => Some(Policy { deadline, rule }),
            _ => None, // clap asks for both
        };
        let times = match &arguments.times {
            None => BTreeMap::new(),
            Some(path) => table(path, late::read_times)?,
        };
        Ok(Self { policy, times })
    }

    fn charge(&self, row: &mut Row, at: Option<jiff::Timestamp>, roster: Option<&Roster>) {
        let (Some(policy), Some(score)) = (&self.policy, row.score) else { return };
        let at = self.times.get(&row.student).copied().or(at);
        let member = roster.and_then(|roster| roster.members.get(&row.student));
        let extension_hours = member.map_or(0, |member| member.extension_hours);
        if let Some(late) = policy.charge(score, at, extension_hours) {
            row.points = Some(score - late.points);
            row.late = Some(late);
        }
    }
}

/// Puts a person's points in the place of scores. Whoever gets enough of them has passed.
fn replace(path: &Path, rows: &mut [Row]) -> Result<()> {
    let students: BTreeSet<String> = rows.iter().map(|row| row.student.clone()).collect();
    let exercises: BTreeSet<String> = rows.iter().map(|row| row.exercise.clone()).collect();
    let students = students.iter().map(String::as_str).collect();
    let exercises = exercises.iter().map(String::as_str).collect();
    let replaced = table(path, |bytes| replacements::read(bytes, &students, &exercises))?;
    for row in rows {
        let Some(replaced) = replaced.get(&(row.student.clone(), row.exercise.clone())) else {
            continue;
        };
        let enough = replaced.points >= row.pass_score;
        row.verdict = if enough { Verdict::Passed } else { Verdict::Failed };
        row.points = Some(replaced.points);
        row.replaced = Some(replaced.clone());
    }
    Ok(())
}

/// A table that the instructor wrote. What is wrong with it can be mended by them.
fn table<T>(path: &Path, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let bytes = std::fs::read(path)
        .map_err(|error| Usage(format!("cannot read `{}`: {error}", path.display())))?;
    read(&bytes)
        .map_err(|error| Usage(format!("cannot read `{}`:\n{error:#}", path.display())).into())
}

impl cli::ClassReport {
    fn roster(&self) -> Result<Option<Roster>> {
        let read = |path: &PathBuf| table(path, |bytes| Roster::read(bytes, self.key.as_deref()));
        self.roster.as_ref().map(read).transpose()
    }
}

/// Writes every report that was asked for, and shows the summary.
fn report(
    arguments: &cli::ClassReport,
    store: &Store,
    rows: &[Row],
    roster: Option<&Roster>,
    exercises: &[Exercise],
    look: cli::Look,
) -> Result<()> {
    #[derive(Serialize)]
    struct Object {
        format: u32,
        rows: usize,
        /// How many rows have each verdict.
        verdicts: BTreeMap<String, usize>,
        written: Vec<PathBuf>,
    }

    let written = reports(arguments, store, rows, roster, exercises)?;
    if look.json {
        let mut verdicts = BTreeMap::new();
        for row in rows {
            *verdicts.entry(row.verdict.to_string()).or_default() += 1;
        }
        return print::json(&Object { format: 1, rows: rows.len(), verdicts, written });
    }
    let style = if look.plain { Style::Plain } else { Style::of_stdout() };
    with_context(arguments, store, rows, roster, exercises, |context| {
        print::out(&export::summary::text(rows, context, style));
        Ok(())
    })
}

/// Writes every report that was asked for; their paths.
fn reports(
    arguments: &cli::ClassReport,
    store: &Store,
    rows: &[Row],
    roster: Option<&Roster>,
    exercises: &[Exercise],
) -> Result<Vec<PathBuf>> {
    with_context(arguments, store, rows, roster, exercises, |context| {
        let mut written = Vec::new();
        for &format in &arguments.formats {
            // The rows themselves lie beside the reports.
            if format != Format::Jsonl {
                let rows = rows.iter().map(|row| Ok(row.clone()));
                written.extend(export::write(format, rows, context, &store.reports())?);
            }
        }
        Ok(written)
    })
}

/// Gives `body` what a report says besides what the rows say.
fn with_context<T>(
    arguments: &cli::ClassReport,
    store: &Store,
    rows: &[Row],
    roster: Option<&Roster>,
    exercises: &[Exercise],
    body: impl FnOnce(&export::Context<'_>) -> Result<T>,
) -> Result<T> {
    let titles: Vec<(String, String)> = exercises
        .iter()
        .map(|exercise| (exercise.place.id.clone(), exercise.manifest.title.clone()))
        .collect();
    let people: BTreeMap<String, Person> = roster
        .iter()
        .flat_map(|roster| &roster.members)
        .map(|(id, member)| {
            let (name, email) = (member.name.clone(), member.email.clone());
            (id.clone(), Person { name, email, ..Person::default() })
        })
        .collect();
    let drawings = store.drawings();
    let timelines = |row: &Row| {
        let path = drawing_of(row).map(|name| drawings.join(name));
        let student = path.and_then(|path| std::fs::read_to_string(path).ok());
        Timelines { student, reference: None }
    };
    let columns: Vec<Column> = arguments.columns.iter().map(|it| it.column()).collect();
    let gradebook = match &arguments.gradebook {
        None => None,
        Some(path) => Some(
            std::fs::read_to_string(path)
                .map_err(|error| Usage(format!("cannot read `{}`: {error}", path.display())))?,
        ),
    };
    body(&export::Context {
        title: &arguments.title,
        exercises: &titles,
        feedback: arguments.feedback,
        people: &people,
        identical: &identical(rows),
        timelines: &timelines,
        gradebook: gradebook.as_deref().map(|export| Gradebook { export, columns: &columns }),
        submission: export::Submission::of_environment(),
        columns: print::columns(),
    })
}

/// Students with the same file, unless it is the one that everybody was handed.
fn identical(rows: &[Row]) -> Vec<Identical> {
    let mut by_exercise: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.reason != Some(Reason::Untouched)) {
        if let Some(file) = &row.file {
            let files = by_exercise.entry(&row.exercise).or_default();
            files.push((&row.student, &file.sha256));
        }
    }
    let groups = by_exercise.into_iter().flat_map(|(exercise, files)| {
        let groups = similar::identical(files);
        groups
            .into_iter()
            .map(|students| Identical { exercise: exercise.to_owned(), students })
            .collect::<Vec<_>>()
    });
    groups.collect()
}

/// What files are compared by.
struct Prints {
    exercises: Vec<(String, similar::Known)>,
    /// By exercise: who, SHA-256, and the print.
    files: Vec<Vec<(String, String, similar::Print)>>,
}

impl Prints {
    fn new(workspace: &Workspace, places: &[Place]) -> Self {
        let known = |place: &Place| {
            let solution = workspace.root().join("solutions").join(place.name());
            let texts = [place.folder.join(".shipped/lib.rs"), solution.join("src/lib.rs")];
            let texts = texts.map(|path| std::fs::read_to_string(path).unwrap_or_default());
            (place.id.clone(), similar::Known::of(texts.iter().map(String::as_str)))
        };
        Self {
            exercises: places.iter().map(known).collect(),
            files: vec![Vec::new(); places.len()],
        }
    }

    fn add(&mut self, student: &str, handed: &[Handed]) {
        for ((handed, (_, known)), files) in handed.iter().zip(&self.exercises).zip(&mut self.files)
        {
            if let Handed::File(file) = handed {
                let print = similar::Print::of(&file.text, known);
                files.push((student.to_owned(), file.submitted.sha256.clone(), print));
            }
        }
    }

    /// Writes the pairs that are alike; how many.
    fn write(&self, store: &Store) -> Result<usize> {
        let mut alike = Vec::new();
        for ((exercise, _), files) in self.exercises.iter().zip(&self.files) {
            let files: Vec<_> = files
                .iter()
                .map(|(student, sha256, print)| (student.as_str(), sha256.as_str(), print))
                .collect();
            let pairs = similar::pairs(&files, SHARE);
            alike.extend(pairs.into_iter().map(|pair| (exercise.as_str(), pair)));
        }
        store.write_similar(&alike)?;
        Ok(alike.len())
    }
}

/// Files of which this much is alike are listed: below it chance and taught idioms take over.
const SHARE: f64 = 0.5;

/// The body of a worker's process.
pub(super) fn worker() -> Result<Exit> {
    let workspace = Workspace::find().context("a worker is started by the checker alone")?;
    worker::serve(&workspace)?;
    Ok(Exit::Passed)
}
