//! The exercises as they are, on the simulated device, in a copy of this workspace: the student's
//! file is written over.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use checker::exercise;
use checker::workspace::Workspace;

use crate::compiled;
use crate::tree::{Tree, json, scratch, write};

/// The exercises of this workspace, in order.
pub(crate) fn exercises() -> impl Iterator<Item = &'static str> {
    static FOUND: LazyLock<Vec<String>> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let workspace = Workspace::at(&root).expect("this workspace");
        let places = exercise::all(&workspace).expect("the folder of exercises");
        places.into_iter().map(|place| place.id).collect()
    });
    FOUND.iter().map(String::as_str)
}

/// Names the exercises to look at, parted by commas, for their author, who waits for the tables of no others.
const ONLY: &str = "SWIM_ONLY";

/// Those of the exercises of which tables are made.
pub(crate) fn is_wanted(id: &str) -> bool {
    std::env::var(ONLY).map_or(true, |only| only.split(',').any(|it| it == id))
}

/// A copy, for one test at a time: tests write over the same files.
pub(crate) struct Real {
    tree: &'static Tree,
    _turn: Option<Turn>,
}

/// Names of the copies that are alike, and of their target folders. There are two, for two processors: most tests
/// want one, and much of what they do there keeps one processor busy.
const COPIES: [[&str; 2]; 2] = [["real", "real-target"], ["twin", "twin-target"]];

/// Which of them a test has.
static TAKEN: Mutex<[bool; COPIES.len()]> = Mutex::new([false; COPIES.len()]);
static GIVEN_BACK: Condvar = Condvar::new();

/// The number of a copy that is a test's until this is dropped.
struct Turn(usize);

impl Turn {
    fn wait() -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let none_is_free = |taken: &mut [bool; COPIES.len()]| taken.iter().all(|it| *it);
        let taken = GIVEN_BACK.wait_while(taken, none_is_free);
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        let number = taken.iter().position(|it| !it).expect("one of them is free");
        taken[number] = true;
        Self(number)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner)[self.0] = false;
        GIVEN_BACK.notify_one();
    }
}

pub(crate) fn real() -> Real {
    static TREES: [OnceLock<Tree>; COPIES.len()] = [const { OnceLock::new() }; COPIES.len()];
    let turn = Turn::wait();
    let [name, target] = COPIES[turn.0];
    Real { tree: TREES[turn.0].get_or_init(|| copied(name, target)), _turn: Some(turn) }
}

/// Another copy, for the one test that adds to it. It has a target folder of its own: cargo tells packages apart by
/// their place in the workspace, and would take the lab with the additions for that of the first copy.
pub(crate) fn started() -> Real {
    static TREE: OnceLock<Tree> = OnceLock::new();
    Real { tree: TREE.get_or_init(|| copied("started", "started-target")), _turn: None }
}

fn copied(name: &str, target: &str) -> Tree {
    let tree = Tree::at(scratch().join(name), scratch().join(target));
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    copy(&from, tree.root());
    if !tree.target().exists() {
        compiled::as_old_as(&from, tree.root());
        compiled::take(&compiled::ours(), tree.target());
    }
    tree
}

/// Runs the checker in a copy to its end.
pub(crate) fn output(arguments: &[&str]) -> std::process::Output {
    real().checker(arguments).output().expect("the checker starts")
}

/// Copies what a workspace is made of; a file that is as it should be is left alone, for cargo's sake,
/// and one that is no longer there goes.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(to).expect("a folder").flatten() {
        let path = entry.path();
        if !from.join(entry.file_name()).exists() {
            let removed = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            removed.expect("it goes");
        }
    }
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name();
        if ["target", ".git", ".bundle"].iter().any(|skipped| name == *skipped) {
            continue;
        }
        if from.is_dir() {
            copy(&from, &to);
        } else {
            let bytes = std::fs::read(&from).expect("a file");
            if !std::fs::read(&to).is_ok_and(|old| old == bytes) {
                std::fs::write(&to, bytes).expect("a file");
            }
        }
    }
}

impl Real {
    pub(crate) fn root(&self) -> &Path {
        self.tree.root()
    }

    pub(crate) fn target(&self) -> &Path {
        self.tree.target()
    }

    /// Exit code, standard output and standard error of the checker with `arguments`.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        self.tree.run(arguments)
    }

    /// Any program with `arguments`, started in the copy.
    pub(crate) fn program(&self, program: &Path, arguments: &[&str]) -> Command {
        self.tree.program(program, arguments)
    }

    pub(crate) fn checker(&self, arguments: &[&str]) -> Command {
        self.tree.checker(arguments)
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, serde_json::Value) {
        self.tree.json(&[arguments, &["--device", "sim"]].concat())
    }

    /// Puts `line` at the start of the measured region of `three_lanes`, runs it, and puts the file
    /// back.
    fn with_line(&self, line: &str, more: &[&str]) -> (i32, serde_json::Value) {
        let file = self.folder("three_lanes").join("src/lib.rs");
        let shipped = std::fs::read_to_string(&file).expect("a file");
        let mark = "        // region: lanes\n";
        assert!(shipped.contains(mark), "the exercise has changed; so must this test");
        write(&file, &shipped.replace(mark, &format!("{mark}        {line}\n")));
        let outcome = self.json(&[&["run", "three_lanes"], more].concat());
        write(&file, &shipped);
        outcome
    }

    /// What a run prints.
    pub(crate) fn report(&self, arguments: &[&str]) -> String {
        self.tree.run(arguments)
    }

    pub(crate) fn folder(&self, id: &str) -> PathBuf {
        let folders = std::fs::read_dir(self.tree.root().join("exercises")).expect("a folder");
        let mut folders = folders.flatten().map(|entry| entry.path());
        folders.find(|path| path.to_string_lossy().ends_with(&format!("_{id}"))).expect("a folder")
    }
}

fn say(object: &serde_json::Value) -> [&str; 2] {
    [&object["verdict"], &object["gate"]].map(|value| value.as_str().unwrap_or("none"))
}

#[test]
fn the_shipped_files_are_drawn_and_score_nothing() {
    let real = real();
    for id in exercises() {
        let (code, object) = real.json(&["run", id]);
        let gate = if ["events", "measuring"].contains(&id) { "output" } else { "none" };
        assert_eq!((code, say(&object)), (1, ["failed", gate]), "{object:#}");
        assert_eq!(object["score"].as_f64(), Some(0.0), "{object:#}");
        let text = real.tree.run(&["run", id, "--device", "sim"]);
        assert!(text.contains("your file") && text.contains("the reference"), "{text}");
        if object["hazards"].as_array().is_some_and(|found| !found.is_empty()) {
            // Where the race is the lesson, its lines are shown from the start.
            assert!(text.contains("error[SWIM-H01]") && text.contains("-->"), "{text}");
        } else if id == "measuring" {
            assert!(text.contains("the meter is wrong: `kernels_ns` of corners is"), "{text}");
        } else {
            // What is to be seen, and neither the line nor the remedy.
            assert!(text.contains("warning[SWIM-C") && !text.contains("help: "), "{text}");
            // What a request waits for costs no makespan, and that is what is replayed.
            let basis = if id == "priorities" { "attributed" } else { "replayed" };
            assert_eq!(object["causes"][0]["basis"], basis, "{object:#}");
        }
    }
}

#[test]
fn one_process_or_two_give_the_same_bytes() {
    let real = real();
    for id in exercises() {
        let run = |machine| {
            let arguments = ["run", id, "--solution", "--device", "sim", "--machine", machine];
            let trace = scratch().join(format!("{machine}.json"));
            let mut command = real.checker(&arguments);
            let text = real.tree.snapshot(command.arg("--trace").arg(&trace));
            (text, std::fs::read_to_string(trace).expect("a record"))
        };
        let (one, two) = (run("in-process"), run("process"));
        assert_eq!(one.0, two.0);
        assert!(one.1 == two.1, "the records differ");
        assert!(run("in-process").1 == one.1, "the same run twice gives two records");
    }
}

#[test]
fn the_programs_of_the_puzzle_are_drawn_and_not_graded() {
    let real = real();
    for name in ["blocking", "non_blocking", "blocking_pinned", "non_blocking_pinned"] {
        let (code, object) = real.json(&["run", "three_lanes", "--program", name]);
        assert_eq!((code, say(&object)), (0, ["none", "none"]), "{object:#}");
        assert!(object["makespan_ns"].as_u64() > Some(0), "{object:#}");
    }
}

/// Luck is not order: the program that comes out right is reported like the one that does not.
#[test]
fn the_racy_programs_of_events_are_reported_whether_or_not_they_come_out_right() {
    let real = real();
    for (name, right, hazards) in [
        ("unordered", false, 2),
        ("watched", true, 2),
        ("crowded", false, 2),
        ("too_early", false, 2),
        ("ordered", true, 0),
    ] {
        let (_, object) = real.json(&["run", "events", "--program", name]);
        let notes = object["notes"].to_string();
        assert_eq!(notes.contains("the output is right"), right, "{name}: {notes}");
        assert_eq!(notes.contains("the output is wrong"), !right, "{name}: {notes}");
        assert_eq!(object["hazards"].as_array().map(Vec::len), Some(hazards), "{name}");
    }
}

/// The puzzle's answer, in makespans: waiting for each copy loses, and with pinned memory on both
/// sides it no longer does (PyTorch on an H200, 2026-11-21: 87.7 against 61.2 ms, then 60 and 60).
#[test]
fn the_puzzle_comes_out_as_it_did_in_pytorch() {
    let real = real();
    let ms = |name| {
        let (_, object) = real.json(&["run", "three_lanes", "--program", name]);
        object["makespan_ns"].as_u64().expect("a time") as f64 / 1e6
    };
    let [blocking, non_blocking] = ["blocking", "non_blocking"].map(ms);
    let [blocking_pinned, non_blocking_pinned] = ["blocking_pinned", "non_blocking_pinned"].map(ms);
    assert!(blocking > 1.05 * non_blocking, "{blocking} against {non_blocking} ms");
    // With pinned memory on both sides the flag no longer matters, and nothing is slower than without.
    let tie = blocking_pinned / non_blocking_pinned;
    assert!((tie - 1.0).abs() < 0.02, "{blocking_pinned} against {non_blocking_pinned} ms");
    assert!(non_blocking_pinned < non_blocking, "{non_blocking_pinned} against {non_blocking} ms");
}

#[test]
#[ignore = "nightly: builds checker and driver for speed, minutes"]
fn optimised_or_not_checker_and_driver_give_the_same_bytes() {
    let real = real();
    // Other tests change sources of the copy and put them back: let cargo take the build id anew.
    let id = real.tree.root().join("checker/driver/build_id.rs");
    let id = std::fs::File::options().append(true).open(id).expect("it is there");
    id.set_modified(std::time::SystemTime::now()).expect("it is ours");
    let target = scratch().join("release-target");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--release",
            "--offline",
            "--quiet",
            "--package",
            "checker",
            "--package",
            "driver",
        ])
        .current_dir(real.tree.root())
        .env("CARGO_TARGET_DIR", &target)
        .status();
    assert!(built.expect("cargo starts").success());
    let release = target.join("release");
    for id in exercises() {
        let trace = scratch().join("profile.json");
        let record = |mut command: Command| {
            let text = real.tree.snapshot(command.arg("--trace").arg(&trace));
            (text, std::fs::read_to_string(&trace).expect("a record"))
        };
        let arguments = ["run", id, "--solution", "--device", "sim"];
        let debug = record(real.checker(&arguments));
        let mut optimised = real.tree.program(&release.join("checker"), &arguments);
        optimised.env("SWIM_DRIVER", release.join("libswim_driver.so"));
        let optimised = record(optimised);
        assert_eq!(debug.0, optimised.0);
        assert!(debug.1 == optimised.1, "the records differ");
    }
}

/// The lab ends with this status when the machine is at fault, but only before the student's code runs.
#[test]
fn an_exit_with_the_labs_own_status_is_the_students_all_the_same() {
    let (code, object) = real().with_line("std::process::exit(4);", &[]);
    assert_eq!((code, say(&object)), (1, ["failed", "output"]), "{object:#}");
}

/// The README's commands, as they stand there, in a fresh copy. `cargo test` is left out: this is it.
#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let real = real();
    let readme = std::fs::read_to_string(real.tree.root().join("README.md")).expect("a file");
    let blocks =
        readme.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let commands: Vec<&str> = blocks.flat_map(str::lines).filter(|line| !line.is_empty()).collect();
    assert!(commands.contains(&"cargo test --workspace"), "{commands:?}");
    let runs: Vec<&&str> = commands.iter().filter(|line| !line.starts_with("cargo test")).collect();
    assert!(runs.len() >= 6, "{runs:?}");
    for line in runs {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("cargo"), "{line}");
        let arguments: Vec<&str> = words.collect();
        let output =
            real.tree.program(Path::new(env!("CARGO")), &arguments).output().expect("cargo starts");
        // The exercise as shipped does not pass; everything else does what it is asked.
        let expected = if *line == "cargo run -- run three_lanes" { 1 } else { 0 };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{line}\n{said}");
    }
}

#[test]
fn a_panic_in_the_measured_region_is_named_by_its_line() {
    let (code, object) = real().with_line("panic!(\"no third lane\");", &[]);
    assert_eq!((code, say(&object)), (1, ["failed", "output"]), "{object:#}");
    let message = object["message"].as_str().expect("a message");
    assert!(message.starts_with("the program panicked at exercises/"), "{message}");
    assert!(message.ends_with(": no third lane"), "{message}");
}

#[test]
fn an_exit_in_the_measured_region_is_no_success() {
    let (code, object) = real().with_line("std::process::exit(0);", &[]);
    assert_eq!((code, say(&object)), (1, ["failed", "output"]), "{object:#}");
    assert_eq!(
        object["message"],
        "the program exited with status 0 before the measured region came to its end"
    );
}

#[test]
fn endless_loops_are_stopped_with_and_without_driver_calls() {
    let real = real();
    for line in [
        "loop { std::hint::spin_loop(); }",
        // Not so fast that the device would no longer keep account of it.
        "while !blocks.upload.is_empty() { upload.synchronize()?; \
         std::thread::sleep(std::time::Duration::from_millis(1)); }",
    ] {
        for machine in ["in-process", "process"] {
            let more = ["--time-limit", "1", "--machine", machine];
            let start = Instant::now();
            let (code, object) = real.with_line(line, &more);
            assert_eq!((code, say(&object)), (1, ["failed", "time"]), "{object:#}");
            // The build is part of it, and may have to wait for those of other tests.
            assert!(start.elapsed() < Duration::from_secs(300), "{line}");
        }
    }
}

#[test]
fn a_driver_library_that_is_missing_or_stale_is_an_error_that_says_so() {
    let real = real();
    real.json(&["run", "three_lanes"]); // builds it
    let (_, object) = real.tree.json(&["doctor"]);
    let says = object["checks"].as_array().and_then(|checks| {
        let driver = checks.iter().find(|check| check["name"] == "driver")?;
        driver["says"].as_str()
    });
    // `PATH, build ID`
    let built = says.and_then(|says| says.split_once(", build "));
    let (path, id) = built.unwrap_or_else(|| panic!("{object:#}"));

    let stale = scratch().join("stale.so");
    let mut bytes = std::fs::read(path).expect("the library");
    let places: Vec<_> =
        (0..bytes.len() - id.len()).filter(|&at| bytes[at..].starts_with(id.as_bytes())).collect();
    assert!(!places.is_empty(), "the id is not in the library");
    for at in places {
        bytes[at..at + id.len()].fill(b'0');
    }
    std::fs::write(&stale, bytes).expect("a file");

    for (library, word) in [(stale.as_path(), "stale"), (Path::new("/nowhere.so"), "/nowhere.so")] {
        let mut command = real.checker(&["run", "three_lanes", "--device", "sim", "--json"]);
        let (code, object) = json(command.env("SWIM_DRIVER", library));
        assert_eq!((code, say(&object)), (4, ["error", "none"]), "{object:#}");
        assert_eq!(object["score"], serde_json::Value::Null);
        let message = object["message"].as_str().expect("a message");
        assert!(message.contains(word), "{message}");
    }
}

/// The shipped files with their first advice followed by hand.
const FOLLOWED: [(&str, &str); 2] = [
    ("three_lanes", include_str!("advice/three_lanes.rs")),
    ("chunked_pipeline", include_str!("advice/chunked_pipeline.rs")),
];

#[test]
fn the_first_advice_followed_by_hand_gives_what_it_predicts() {
    let real = real();
    for (id, followed) in FOLLOWED {
        let (_, object) = real.json(&["run", id]);
        let predicted = object["advice"][0]["makespan_after_ns"].as_f64().expect("advice");
        let file = real.folder(id).join("src/lib.rs");
        let shipped = std::fs::read_to_string(&file).expect("a file");
        write(&file, followed);
        let (_, after) = real.json(&["run", id]);
        write(&file, &shipped);
        let found = after["makespan_ns"].as_f64().expect("a run");
        assert!(
            (found / predicted - 1.0).abs() <= 0.1,
            "{id}: predicted {predicted}, found {found}: {:#}",
            object["advice"]
        );
    }
}

#[test]
fn all_the_advice_for_three_lanes_leads_to_the_solution() {
    let real = real();
    let (_, object) = real.json(&["run", "three_lanes"]);
    let last = object["advice"].as_array().and_then(|all| all.last()).expect("advice");
    let predicted = last["makespan_after_ns"].as_f64().expect("a time");
    let (_, solution) = real.json(&["run", "three_lanes", "--solution"]);
    let solved = solution["makespan_ns"].as_f64().expect("a time");
    assert!((predicted / solved - 1.0).abs() <= 0.05, "{object:#}");
}
