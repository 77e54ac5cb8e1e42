//! The synchronisations of all exercises there are, left out one at a time at the driver: each is
//! missed, or an oracle that knows nothing of the search shows that nothing is left without an order.
//! And what is found in a program does not depend on how long anything took.
//!
//! New exercises are taken up by themselves; each has a table of its own to look at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use trace::env;
use trace::hazards::{self, Hazard};
use trace::numbers::{self, Numbers};
use trace::record::{DeviceState, Output, Trial};

use crate::real::is_wanted;
use crate::tree::scratch;

#[path = "../../trace/tests/it/hazards/oracle.rs"]
#[expect(dead_code, reason = "the tests of `trace` use all of it")]
mod oracle;

use oracle::{Frees, Oracle};

/// One program of an exercise.
struct Program {
    exercise: String,
    name: String,
    executable: PathBuf,
    /// Its sources: what the lines of its record lie under.
    folder: PathBuf,
    /// Whether its outputs are checked.
    is_graded: bool,
    /// What tells it from other programs of the same executable.
    numbers: Numbers,
}

/// All programs that are meant to be right: solutions, baselines, and the puzzles' that are.
fn programs() -> &'static [Program] {
    static PROGRAMS: OnceLock<Vec<Program>> = OnceLock::new();
    PROGRAMS.get_or_init(build)
}

fn build() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the workspace");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root.join("exercises"))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| folder.join("exercise.toml").is_file())
        .collect();
    folders.sort();
    let mut wanted = Vec::new();
    let mut packages = Vec::new();
    for folder in folders {
        let number_and_name = folder.file_name().and_then(|name| name.to_str()).expect("a name");
        let (_, id) = number_and_name.split_once('_').expect("a number and a name");
        if !is_wanted(id) {
            continue;
        }
        let manifest = std::fs::read_to_string(folder.join("exercise.toml")).expect("a file");
        let manifest: toml::Value = toml::from_str(&manifest).expect("TOML");
        let solution = root.join("solutions").join(number_and_name);
        packages.push(id.to_owned());
        let mut add = |name: &str, target: String, folder: &Path, is_graded, numbers: Numbers| {
            let folder = folder.to_owned();
            wanted.push((id.to_owned(), name.to_owned(), target, folder, is_graded, numbers));
        };
        if solution.is_dir() {
            packages.push(format!("{id}-solution"));
            add("solution", format!("{id}-solution"), &solution, true, Numbers::new());
        }
        add("baseline", format!("{id}_baseline"), &folder, true, Numbers::new());
        for puzzle in manifest.get("programs").and_then(toml::Value::as_array).into_iter().flatten()
        {
            let name = puzzle["name"].as_str().expect("a word");
            let example = puzzle.get("example").map_or(name, |it| it.as_str().expect("a word"));
            let numbers = puzzle.get("numbers").cloned().map(|it| it.try_into().expect("numbers"));
            add(name, format!("{id}_{example}"), &folder, false, numbers.unwrap_or_default());
        }
    }
    let built = executables(&root, &packages);
    let programs =
        wanted.into_iter().map(|(exercise, name, target, folder, is_graded, numbers)| {
            let executable = built.get(&target).unwrap_or_else(|| panic!("no program `{target}`"));
            Program { exercise, name, executable: executable.clone(), folder, is_graded, numbers }
        });
    programs.collect()
}

/// Builds the programs of some packages of this workspace: where each is, by its name.
pub(crate) fn executables(root: &Path, packages: &[String]) -> BTreeMap<String, PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet", "--bins", "--examples"]);
    cargo.args(["--message-format", "json-render-diagnostics"]).current_dir(root);
    for package in packages {
        cargo.args(["--package", package]);
    }
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        // Most of it is compiled already, with these.
        const KEPT: [&str; 3] = ["CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_TARGET_DIR"];
        if text.starts_with("CARGO_") && !KEPT.contains(&&*text) {
            cargo.env_remove(&name);
        }
    }
    cargo.env_remove("RUSTC_BOOTSTRAP"); // `.ci/slowest` sets it for this program
    let output = cargo.stderr(Stdio::inherit()).output().expect("cargo starts");
    assert!(output.status.success(), "the exercises do not compile");
    let mut executables = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
        if let (Some(name), Some(path)) =
            (message["target"]["name"].as_str(), message["executable"].as_str())
        {
            executables.insert(name.to_owned(), PathBuf::from(path));
        }
    }
    executables
}

/// A record, as far as it is needed here: most of it is the timeline.
#[derive(Deserialize)]
struct Record {
    program: trace::Program,
    timeline: Ends,
    trials: Vec<Trial>,
    #[serde(default)]
    notes: Vec<String>,
}

/// When the operations of a timeline ended.
#[derive(Deserialize)]
struct Ends {
    spans: Vec<End>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    end_ns: u64,
}

/// What a run came to.
struct Outcome {
    record: Option<Record>,
    /// The gate that it fails beside that of hazards, as far as one run says.
    gate: Option<&'static str>,
    hazards: Vec<Hazard>,
}

/// Runs a program on the simulated device, with one setting more.
fn outcome(program: &Program, setting: Option<(&str, u64)>) -> Outcome {
    /// Far more than any of them takes: a program that has lost a wait may wait for ever.
    const LIMIT: Duration = Duration::from_secs(60);
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let folder = scratch().join("synchronisations");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let path = folder.join(format!("{}.json", RUNS.fetch_add(1, Ordering::Relaxed)));
    let mut command = Command::new(&program.executable);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SWIM_") {
            command.env_remove(&name);
        }
    }
    command.env(env::RECORD, &path).env_remove(env::CONNECTIONS);
    command.env(env::NUMBERS, numbers::setting(&program.numbers));
    command.env_remove(env::COPY_CONNECTIONS);
    if let Some((name, value)) = setting {
        command.env(name, value.to_string());
    }
    command.current_dir(&program.folder).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let status = loop {
        match child.try_wait().expect("it is ours") {
            Some(status) => break Some(status),
            None if start.elapsed() > LIMIT => {
                child.kill().expect("it is ours");
                child.wait().expect("it is ours");
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let text = std::fs::read(&path).ok();
    _ = std::fs::remove_file(&path);
    let record: Option<Record> =
        text.map(|text| serde_json::from_slice(&text).expect("the driver writes records"));
    let trial = record.as_ref().and_then(|record| record.trials.last());
    let gate = match (status, trial) {
        (None, _) => Some("time"),
        (Some(status), _) if !status.success() => Some("output"),
        (_, None) => Some("output"),
        (_, Some(trial)) if matches!(trial.output, Output::Wrong { .. }) => Some("output"),
        (_, Some(trial)) if program.is_graded && trial.output != Output::Correct => Some("output"),
        (_, Some(trial)) if !trial.missing_work.is_empty() => Some("work"),
        (_, Some(trial)) if trial.device == DeviceState::Busy => Some("idle"),
        _ if record.as_ref().is_some_and(ends_without_a_wait) => Some("idle"),
        _ => None,
    };
    let hazards = record.as_ref().map_or(Vec::new(), |record| hazards::find(&record.program));
    Outcome { record, gate, hazards }
}

/// Whether the region ends without a wait for all work, even where that was over by luck.
fn ends_without_a_wait(record: &Record) -> bool {
    let found = hazards::unwaited_within(&record.program, hazards::MOST_EFFORT);
    !found.expect("it is a small program").is_empty()
}

/// What each of `0..count` gives, worked out side by side.
fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let worker = || {
            let mut own = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return own;
                }
                own.push((index, work(index)));
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|it| it.join().expect("it does not panic")).collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, value)| value).collect()
}

/// What leaving out one synchronisation led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Missed {
    /// Somebody notices: by a code, or by a gate.
    By(&'static str),
    /// Nothing is left without an order, and no schedule gives other data.
    Needless,
}

/// One synchronisation: which, where, what stands there, and what became of the program without it.
struct Row {
    call: String,
    place: String,
    text: String,
    missed: Missed,
}

/// Which of a program's synchronisations are left out, one at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    /// Each.
    All,
    /// Of those of one line of the source the first two, the one in the middle, and the last. The others are turns of
    /// the same loop.
    OfEachLine,
}

/// Leaves out the synchronisations of each line of a program in turn.
fn rows(program: &Program, there: &[String], left_out: LeftOut) -> Vec<Row> {
    let mut lines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, call) in there.iter().enumerate() {
        lines.entry(call).or_default().push(index);
    }
    let mut chosen: Vec<usize> = Vec::new();
    for of_a_line in lines.into_values() {
        match of_a_line.len() {
            many if many > 4 && left_out == LeftOut::OfEachLine => {
                chosen.extend([0, 1, many / 2, many - 1].map(|place| of_a_line[place]));
            }
            _ => chosen.extend(of_a_line),
        }
    }
    chosen.sort_unstable();
    each(chosen.len(), |place| row(program, chosen[place], &there[chosen[place]]))
}

/// The synchronisations of a program, each by its call and its place, from a run in which none was left out.
fn synchronisations(whole: &Outcome) -> Vec<String> {
    let notes = whole.record.as_ref().map_or(&[][..], |record| &record.notes);
    let named = notes.iter().find_map(|note| note.strip_prefix("left out none of: "));
    let named = named.expect("a run says which there are").split("; ");
    named.filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Leaves out one synchronisation: what a run came to that says nothing at all is not known.
fn row(program: &Program, index: usize, call: &str) -> Row {
    let without = outcome(program, Some((env::LEAVE_OUT, index as u64)));
    let Program { exercise, name, .. } = program;
    let Some(record) = &without.record else {
        panic!("{name} of {exercise} leaves no record without synchronisation {index}");
    };
    // Where it ended with an error before the region's end, there is no note.
    let noted = record.notes.iter().find_map(|note| note.strip_prefix("left out: "));
    assert!(
        noted.map_or(without.gate.is_some(), |it| it == call),
        "{name} of {exercise}, {call}: {noted:?}"
    );
    let (call, place) = call.rsplit_once(" (").expect("a call and its place");
    let place = place.trim_end_matches(')').to_owned();
    let missed = match (without.hazards.first(), without.gate) {
        (Some(hazard), _) => Missed::By(hazard.code.as_str()),
        (None, Some(gate)) => Missed::By(gate),
        (None, None) => {
            // Nothing is missed; then there must be nothing to miss.
            let oracle = Oracle::new(&record.program, Frees::Return);
            let left = (oracle.pairs(), oracle.unwaited());
            let is_none = left.0.is_empty() && left.1.is_empty();
            assert!(is_none, "{name} of {exercise}, without {call} at {place}: {left:?}");
            Missed::Needless
        }
    };
    Row { text: source(program, &place), call: call.to_owned(), place, missed }
}

/// What stands at a place in the source.
fn source(program: &Program, place: &str) -> String {
    let line = || {
        let (file, line) = place.rsplit_once(':')?;
        let text = std::fs::read_to_string(program.folder.join(file)).ok()?;
        text.lines().nth(line.parse::<usize>().ok()?.checked_sub(1)?).map(|it| it.trim().to_owned())
    };
    line().unwrap_or_default()
}

impl Row {
    /// Whether the one who wrote the line asked for this: other calls are cudarc's own, or the lab's.
    fn is_asked_for(&self) -> bool {
        let words = ["synchronize", "wait", "join", "record", "query", "is_complete"];
        words.iter().any(|word| self.text.contains(word))
    }
}

/// The rows of a program in a few lines: those of one line of the source are counted together.
fn told(program: &Program, there: usize, rows: &[Row]) -> String {
    let needless = rows.iter().filter(|row| row.missed == Missed::Needless).count();
    let tried = match rows.len() {
        all if all == there => String::new(),
        some => format!(", {some} left out"),
    };
    let mut text = format!(
        "{}: {there} synchronisations{tried}, {} caught, {needless} needless\n",
        program.name,
        rows.len() - needless
    );
    let mut lines: Vec<(String, usize)> = Vec::new();
    for Row { missed, call, text, .. } in rows {
        let missed = match missed {
            Missed::By(what) => what,
            Missed::Needless => "needless",
        };
        let line = format!("{missed:<9} {call:<20} {text}");
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line, 1)),
        }
    }
    for (line, count) in lines {
        text += &format!("  {count:>4}  {line}\n");
    }
    text
}

/// Tries those of the programs that are wanted, and tells of each exercise.
fn each_is_missed_or_needless(
    left_out: LeftOut,
    wanted: impl Fn(&Program) -> bool,
) -> BTreeMap<&'static str, String> {
    let mut tables: BTreeMap<&str, String> = BTreeMap::new();
    for program in programs().iter().filter(|program| wanted(program)) {
        let Program { exercise, name, .. } = program;
        let table = tables.entry(exercise).or_default();
        let whole = outcome(program, Some((env::LEAVE_OUT, u32::MAX.into())));
        let codes: Vec<&str> = whole.hazards.iter().map(|hazard| hazard.code.as_str()).collect();
        if !codes.is_empty() && !program.is_graded {
            *table += &format!("{name}: not correct, {}\n", codes.join(", "));
            continue;
        }
        assert_eq!((codes, whole.gate), (vec![], None), "{name} of {exercise}");
        let there = synchronisations(&whole);
        let rows = rows(program, &there, left_out);
        // In a loop it is enough that one turn needs the line: the last ones may record for nobody.
        let needed: BTreeSet<&str> = rows
            .iter()
            .filter(|row| row.missed != Missed::Needless)
            .map(|row| row.place.as_str())
            .collect();
        let wasted =
            rows.iter().filter(|row| row.is_asked_for() && !needed.contains(row.place.as_str()));
        if name == "solution" {
            let wasted: Vec<String> =
                wasted.map(|row| format!("{}: {}", row.place, row.text)).collect();
            assert!(wasted.is_empty(), "the solution of {exercise} waits in vain: {wasted:#?}");
        }
        *table += &told(program, there.len(), &rows);
    }
    tables
}

#[test]
fn each_synchronisation_of_a_solution_or_baseline_that_is_left_out_is_missed_or_was_needless() {
    let tables = each_is_missed_or_needless(LeftOut::OfEachLine, |program| program.is_graded);
    for (exercise, table) in tables {
        insta::assert_snapshot!(format!("synchronisations_of_{exercise}"), table);
    }
}

#[test]
#[ignore = "nightly: minutes, and the same code as for some of each line"]
fn every_turn_of_a_loop_in_a_solution_or_baseline_is_missed_or_was_needless() {
    each_is_missed_or_needless(LeftOut::All, |program| program.is_graded);
}

#[test]
#[ignore = "nightly: minutes, and the same code as for solutions"]
fn each_synchronisation_of_a_puzzle_that_is_left_out_is_missed_or_was_needless() {
    let tables = each_is_missed_or_needless(LeftOut::OfEachLine, |program| !program.is_graded);
    for (exercise, table) in tables {
        insta::assert_snapshot!(format!("synchronisations_of_the_puzzle_of_{exercise}"), table);
    }
}

/// Code and lines of each hazard, in order.
fn lines(hazards: &[Hazard]) -> Vec<String> {
    let told =
        |it: &Hazard| format!("{} {} {}", it.code, it.first.call.place(), it.second.call.place());
    hazards.iter().map(told).collect()
}

#[test]
fn ten_schedules_of_a_program_give_one_verdict() {
    let all = programs();
    let is_same = |one: &Program, other: &Program| one.executable == other.executable;
    // What shares its code with others differs from them in a number.
    let first_or_last = |index: usize| {
        let (before, behind) = (&all[..index], &all[index + 1..]);
        [before, behind].iter().any(|them| !them.iter().any(|it| is_same(it, &all[index])))
    };
    let some = (0..all.len()).filter(|&index| first_or_last(index));
    schedules_give_one_verdict(some.map(|index| &all[index]), 10, 3);
}

#[test]
#[ignore = "nightly: minutes, and the same code as for ten"]
fn a_hundred_schedules_of_a_program_give_one_verdict() {
    schedules_give_one_verdict(programs().iter(), 100, 10);
}

/// Plays each program on so many schedules: those of the puzzles are many, and of the same few shapes.
fn schedules_give_one_verdict(
    programs: impl Iterator<Item = &'static Program>,
    graded: usize,
    of_puzzles: usize,
) {
    for program in programs {
        let schedules = if program.is_graded { graded } else { of_puzzles };
        let who = format!("{} of {}", program.name, program.exercise);
        let exact = outcome(program, None);
        let verdicts = each(schedules, |seed| {
            let perturbed = outcome(program, Some((env::SCHEDULE, 1 + seed as u64)));
            // Not the makespan: that of a program that waits for its host is always the same.
            let ends = perturbed.record.map(|record| record.timeline.spans);
            (lines(&perturbed.hazards), perturbed.gate, ends)
        });
        let different: BTreeSet<_> = verdicts.iter().map(|(_, _, ends)| ends).collect();
        assert!(different.len() > schedules / 2, "{who}: the schedules are hardly different");
        for (seed, (found, gate, _)) in verdicts.into_iter().enumerate() {
            let seed = seed + 1;
            assert_eq!(found, lines(&exact.hazards), "{who}, seed {seed}");
            if exact.hazards.is_empty() {
                assert_eq!(gate, exact.gate, "{who}, seed {seed}");
            }
        }
    }
}
