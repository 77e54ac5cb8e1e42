//! `checker grade`: a class.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use trace::words::counted;

use super::reports::{self, Reports, table};
use crate::compile::Shared;
use crate::fingerprints::Prints;
use crate::grader::Grader;
use crate::grading::{self, Plan};
use crate::kit::Kit;
use crate::lateness::{self, Policy};
use crate::on_gpu::{self, GpuSetup};
use crate::record::Row;
use crate::replacements;
use crate::roster::{Comparison, Roster};
use crate::store::{Earlier, Store, holds};
use crate::submission::{Class, Handed, Student, Wanted};
use crate::timings::{self, Took};
use crate::worker::{self, Setting};
use checker::cli::{self, GradeDevice};
use checker::compile::Optimisation;
use checker::device::{self, Simulated};
use checker::exercise::{self, Exercise, Location};
use checker::exit::{Exit, Usage};
use checker::grade::Verdict;
use checker::print;
use checker::status::Indicator;
use checker::workspace::Workspace;
use sandbox::interrupt;
use sandbox::scratch::{self, Scratch};
use sandbox::{Required, Sandbox};

/// Grades a class.
pub(crate) fn grade(arguments: &cli::Grade) -> Result<Exit> {
    let mut setup = Setup::open(arguments)?;
    let kits = Kits::stage(&setup)?;
    let mut graded = setup.grade(&kits)?;
    setup.adjust(&kits, &mut graded)?;
    setup.publish(&graded)
}

/// The class and everything that grades it.
struct Setup<'a> {
    arguments: &'a cli::Grade,
    workspace: Workspace,
    exercises: Vec<Exercise>,
    class: Class,
    roster: Option<Roster>,
    lateness: Lateness,
    store: Store,
    sandbox: Sandbox,
    gpu: Option<device::Gpu>,
    /// Remarks on what was handed in.
    notes: Vec<String>,
}

/// The exercises' files and the libraries, where programs of students find them.
struct Kits {
    setting: Setting,
    graders: Vec<Grader>,
    for_gpu: Option<Shared>,
    /// The folders, which go with it.
    _staged: Vec<Scratch>,
}

/// Rows, and what the reports take besides.
struct Graded {
    /// Numbers of the students.
    students: Vec<usize>,
    rows: Vec<Row>,
    prints: Prints,
    /// When each student handed in.
    times: BTreeMap<String, jiff::Timestamp>,
    /// How many files were compiled and run.
    run: usize,
    start: Instant,
    spent: Spent,
}

/// The time that grading took.
#[derive(Clone, Copy, Serialize)]
struct Spent {
    /// From the first file to the last.
    graded_s: f64,
    /// Of that, what one thread does for all: reading what was handed in.
    reading_s: f64,
    /// On processors meanwhile, of all that was started and is over.
    processor_s: f64,
    took: Took,
    late: Took,
}

impl<'a> Setup<'a> {
    fn open(arguments: &'a cli::Grade) -> Result<Self> {
        let workspace = Workspace::find()?;
        let exercises = reports::exercises(&workspace, &arguments.exercises)?;
        let all: Vec<String> =
            exercise::all(&workspace)?.into_iter().map(|place| place.id).collect();
        let mut class = Class::open(&arguments.folder, &all)?;
        let mut notes = class.notes.clone();
        let roster = reports::roster(&arguments.report)?;
        if let Some(roster) = &roster {
            notes.extend(enrol(&mut class, roster)?);
        }
        let lateness = Lateness::read(arguments)?;
        let earlier = if arguments.resume { Earlier::Resumed } else { Earlier::Refused };
        let store = Store::open(&arguments.out, earlier)?;
        let sandbox = sandbox(arguments)?;
        let gpu = gpu(arguments, &exercises)?;
        Ok(Self {
            arguments,
            workspace,
            exercises,
            class,
            roster,
            lateness,
            store,
            sandbox,
            gpu,
            notes,
        })
    }

    fn places(&self) -> Vec<Location> {
        self.exercises.iter().map(|exercise| exercise.place.clone()).collect()
    }

    fn wanted(&self) -> Vec<Wanted> {
        self.exercises.iter().map(|exercise| Wanted::of(&exercise.place)).collect()
    }

    /// Grades the files of the class, or of its shard, on the simulated device.
    fn grade(&mut self, kits: &Kits) -> Result<Graded> {
        let (arguments, wanted) = (self.arguments, self.wanted());
        let mut prints = Prints::new(&self.workspace, &self.places());
        let Self { workspace, class, store, notes, .. } = self;
        let ids: Vec<String> = class.ids().map(str::to_owned).collect();
        let in_shard = |id: &str| arguments.shard.is_none_or(|shard| holds(shard, id));
        let students: Vec<usize> =
            (0..class.len()).filter(|&number| in_shard(&ids[number])).collect();
        let start = Instant::now();
        let plan = Plan {
            workspace,
            setting: &kits.setting,
            graders: &kits.graders,
            store,
            jobs: arguments.jobs.unwrap_or_else(cores),
            budget_s: arguments.budget,
            progress: &|done, total| print::progress(&format!("graded {done} of {total}")),
        };
        let mut times = BTreeMap::new();
        let mut reading = Duration::ZERO;
        let processor_s = timings::processor_s();
        let graded = grading::grade(&plan, &students, |number| {
            let begun = Instant::now();
            let student = class.read(number, &wanted);
            let said = student.notes.iter().map(|note| format!("{}: {note}", student.id));
            notes.extend(said);
            times.extend(student.at.map(|at| (student.id.clone(), at)));
            if arguments.shard.is_none() {
                prints.add(&student.id, &student.handed);
            }
            reading += begun.elapsed();
            student
        });
        print::progress("");
        let grading::Graded { rows, run, took, late } = graded?;
        let spent = Spent {
            graded_s: start.elapsed().as_secs_f64(),
            reading_s: reading.as_secs_f64(),
            processor_s: timings::processor_s() - processor_s,
            took,
            late,
        };
        Ok(Graded { students, rows, prints, times, run, start, spent })
    }

    /// Adds what a GPU says, and what the class's rules and its instructors do to points.
    fn adjust(&self, kits: &Kits, graded: &mut Graded) -> Result<()> {
        let rows = &mut graded.rows;
        if let (Some(gpu), Some(shared)) = (&self.gpu, &kits.for_gpu) {
            let indicator = Indicator::start();
            let mut gpu = GpuSetup {
                workspace: &self.workspace,
                gpu,
                shared,
                store: &self.store,
                tell: &|stage| indicator.tell(stage),
                beside: BTreeMap::new(),
            };
            let wanted = self.wanted();
            let students = graded.students.iter().map(|&number| self.class.read(number, &wanted));
            measure(&mut gpu, &kits.graders, rows, students)?;
        }
        for row in &mut *rows {
            let at = graded.times.get(&row.student).copied();
            self.lateness.charge(row, at, self.roster.as_ref());
        }
        if self.arguments.absent == cli::Absent::Blank {
            leave_blank(rows, self.class.absent());
        }
        if let Some(path) = &self.arguments.replace {
            replace(path, rows)?;
        }
        Ok(())
    }

    /// Writes everything, and says where it is.
    fn publish(&self, graded: &Graded) -> Result<Exit> {
        let (arguments, store) = (self.arguments, &self.store);
        let Graded { students, rows, prints, run, start, spent, .. } = graded;
        let written = store.write_rows(rows, arguments.shard)?;
        let wall_s = start.elapsed().as_secs_f64();
        let noted = store.write_notes(&self.notes, arguments.shard)?;
        let mut alike = 0;
        if arguments.shard.is_none() {
            store.drop_parts()?;
            alike = prints.write(store)?;
            let reports = Reports {
                arguments: &arguments.report,
                store,
                rows,
                roster: self.roster.as_ref(),
                exercises: &self.exercises,
            };
            reports.write_and_show(arguments.look)?;
        }
        print::err(&format!(
            "{} of {} in {wall_s:.1} s, {run} of them run; `{}`\n",
            counted(rows.len(), "exercise"),
            counted(students.len(), "student"),
            written.display()
        ));
        if arguments.timings {
            let (rows, kib) = (rows.len(), timings::own_kib());
            let timings = Timings { spent: *spent, wall_s, rows, kib };
            print::err(&format!("timings {}\n", serde_json::to_string(&timings)?));
        }
        if arguments.shard.is_none() {
            reports::tell_reports(store);
        }
        if alike > 0 {
            let pairs = counted(alike, "pair");
            print::err(&format!("{pairs} of similar files; `{}`\n", store.similar().display()));
        }
        reports::tell_notes(&self.notes, &noted);
        Ok(reports::exit(rows))
    }
}

impl Kits {
    fn stage(setup: &Setup<'_>) -> Result<Self> {
        let (places, sandbox) = (setup.places(), &setup.sandbox);
        let profile = &setup.arguments.profile;
        scratch::sweep();
        let mut staged = Vec::new();
        let indicator = Indicator::start();
        let mut stage = |optimisation| -> Result<Kit> {
            let folder = Scratch::passable()?;
            let tell = |stage| indicator.tell(stage);
            let kit = Kit::stage(&setup.workspace, &places, optimisation, folder.path(), &tell)?;
            staged.push(folder);
            Ok(kit)
        };
        let kit = stage(Optimisation::Dev)?;
        let for_gpu = setup.gpu.as_ref().map(|_| stage(Optimisation::Release)).transpose()?;
        drop(indicator);
        let setting = Setting {
            kit: kit.clone(),
            exercises: places.iter().map(|place| place.folder.clone()).collect(),
            profile: profile.clone(),
            sandbox: sandbox.clone(),
        };
        let shared = Shared { kit: Arc::new(kit), sandbox: Arc::new(sandbox.clone()) };
        let for_gpu = for_gpu.map(|kit| Shared { kit: Arc::new(kit), ..shared.clone() });
        let device = Simulated::named(profile.as_deref())?;
        let grader =
            |exercise: &Exercise| Grader::new(exercise.clone(), shared.clone(), device.clone());
        let graders = setup.exercises.iter().map(grader).collect::<Result<Vec<_>>>()?;
        Ok(Self { setting, graders, for_gpu, _staged: staged })
    }
}

/// Gives the students of a roster their places and names. Remarks on where the two differ.
fn enrol(class: &mut Class, roster: &Roster) -> Result<Vec<String>> {
    let compared = roster.compare(class.ids());
    if let Some(why) = &compared.strangers {
        return Err(Usage(why.clone()).into());
    }
    let members = roster.members.iter();
    let members = members.map(|(id, member)| (id.as_str(), member.name.as_deref()));
    class.enrol(&compared.same, members);
    Ok(differences(roster, &compared))
}

/// The sandbox that the arguments choose.
fn sandbox(arguments: &cli::Grade) -> Result<Sandbox> {
    match (arguments.sandbox, arguments.accept_risk) {
        (cli::SandboxChoice::Off, true) => Ok(Sandbox::off()),
        (cli::SandboxChoice::Off, false) => {
            Err(Usage("`--sandbox off` needs `--accept-risk`".to_owned()).into())
        }
        (cli::SandboxChoice::Auto, _) => Sandbox::probe(match arguments.require_sandbox {
            true => Required::Full,
            false => Required::Floor,
        }),
    }
}

/// The GPU beside the simulated device, where the arguments want one; it has to do for all
/// exercises.
fn gpu(arguments: &cli::Grade, exercises: &[Exercise]) -> Result<Option<device::Gpu>> {
    let gpu = match (arguments.device, arguments.accept_risk) {
        (GradeDevice::Sim, _) => return Ok(None),
        (GradeDevice::Gpu, false) => return Err(Usage(GPU_IS_OPEN.to_owned()).into()),
        (GradeDevice::Gpu, true) => device::gpu().context("no usable GPU")?,
    };
    if let Some(why) = exercises.iter().find_map(|it| gpu.cannot_run(it)) {
        let message = format!("{why}\n\nhint: grade it with `--device sim`, which simulates two");
        return Err(Usage(message).into());
    }
    Ok(Some(gpu))
}

/// Takes the points of students who handed in nothing.
fn leave_blank<'a>(rows: &mut [Row], absent: impl Iterator<Item = &'a str>) {
    let absent: BTreeSet<&str> = absent.collect();
    for row in rows.iter_mut().filter(|row| absent.contains(&*row.student)) {
        row.points = None;
    }
}

/// Adds to each row that can have it what its file takes on a GPU.
fn measure(
    gpu: &mut GpuSetup<'_>,
    graders: &[Grader],
    rows: &mut [Row],
    students: impl Iterator<Item = Student>,
) -> Result<()> {
    let mut rows: BTreeMap<_, _> =
        rows.iter_mut().map(|row| ((row.student.clone(), row.exercise.clone()), row)).collect();
    for student in students {
        for (grader, handed) in graders.iter().zip(&student.handed) {
            interrupt::check()?;
            let row = rows.get_mut(&(student.id.clone(), grader.exercise_id().to_owned()));
            if let (Some(row), Handed::File(file)) = (row, handed)
                && on_gpu::wants(row)
            {
                row.gpu = Some(gpu.measure(grader, file.text.as_bytes())?);
            }
        }
    }
    Ok(())
}

const GPU_IS_OPEN: &str = "`--device gpu` needs `--accept-risk`: on a GPU students' code runs outside of the \
                           sandbox, as you\n\nhint: the grade needs no GPU; without `--device gpu` it is the same";

/// The time that grading a class took: a line for a benchmark to read.
#[derive(Serialize)]
struct Timings {
    #[serde(flatten)]
    spent: Spent,
    /// With the writing of the rows.
    wall_s: f64,
    rows: usize,
    /// Most memory that this process has had.
    kib: u64,
}

/// As many as there are cores.
fn cores() -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u16::try_from(cores).unwrap_or(u16::MAX).min(cli::MOST_JOBS)
}

/// Where roster and submissions differ, in words.
fn differences(roster: &Roster, compared: &Comparison) -> Vec<String> {
    let unused = roster.unused.iter();
    let unused = unused.map(|column| format!("the roster's column `{column}` says nothing here"));
    let same = compared.same.iter();
    let same = same.map(|(id, member)| format!("{id}: `{member}` on the roster"));
    let unknown = compared.unknown.iter().map(|unknown| match &unknown.resembles {
        Some(other) => format!("{}: not on the roster, on which `{other}` is", unknown.id),
        None => format!("{}: not on the roster", unknown.id),
    });
    let missing = compared.missing.iter().map(|id| format!("{id}: handed in nothing"));
    unused.chain(same).chain(unknown).chain(missing).collect()
}

/// When things came in, and what that costs.
struct Lateness {
    policy: Option<Policy>,
    /// As the instructor says; it goes before what a platform says.
    times: BTreeMap<String, jiff::Timestamp>,
}

impl Lateness {
    fn read(arguments: &cli::Grade) -> Result<Self> {
        let policy = match (&arguments.deadline, arguments.late) {
            (Some(deadline), Some(rule)) => {
                let deadline = deadline.parse();
                let deadline = deadline.map_err(|error| Usage(format!("`--deadline`: {error}")))?;
                Some(Policy { deadline, rule })
            }
            _ => None, // clap asks for both
        };
        let times = match &arguments.times {
            None => BTreeMap::new(),
            Some(path) => table(path, lateness::read_times)?,
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

/// Puts a person's points in the place of scores. A person who gets enough of them has passed.
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

/// The body of a worker's process.
pub(crate) fn worker() -> Result<Exit> {
    let workspace = Workspace::find().context("a worker is started by the checker alone")?;
    worker::serve(&workspace)?;
    Ok(Exit::Passed)
}
