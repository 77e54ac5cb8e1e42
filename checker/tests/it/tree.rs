//! A miniature tree of exercises: tiny packages whose programs hand over a prepared record, or fail
//! in some way of their own. They share one target folder and are built together, once.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

mod recorded;

pub(crate) use recorded::{BOUNDS, program};

/// Name and student's file of each exercise. `lab` is the miniature one below.
const EXERCISES: &[(&str, &str)] = &[
    ("01_swift", "pub fn solve() { lab::hand_over(\"swift\") }"),
    ("02_sluggish", "pub fn solve() { lab::hand_over(\"sluggish\") }"),
    ("03_broken", "pub fn solve() -> u32 { let streams: u32 = \"three\"; streams }"),
    ("04_panics", "pub fn solve() { panic!(\"there is no third stream\") }"),
    ("05_quits", "pub fn solve() { std::process::exit(0) }"),
    ("06_loops", "pub fn solve() { loop { std::hint::spin_loop() } }"),
    ("07_aborts", "pub fn solve() { std::process::abort() }"),
    ("08_floods", FLOODS),
    ("09_spawns", SPAWNS),
    ("10_wrong", "pub fn solve() { lab::hand_over(\"wrong\") }"),
    ("11_lazy", "pub fn solve() { lab::hand_over(\"lazy\") }"),
    ("12_hasty", "pub fn solve() { lab::hand_over(\"hasty\") }"),
    ("13_stale", STALE),
    ("14_garbled", "pub fn solve() { lab::hand_over(\"garbled\") }"),
    ("15_newer", "pub fn solve() { lab::hand_over(\"newer\") }"),
    ("16_twice", "pub fn solve() { lab::hand_over(\"twice\") }"),
    ("17_late", "pub fn solve() { lab::hand_over(\"swift\"); std::process::exit(3) }"),
    ("18_warns", "pub fn solve() { let streams = 3; lab::hand_over(\"swift\") }"),
    ("19_listens", LISTENS),
    ("20_noisy", "pub fn solve() { lab::hand_over(\"noisy\") }"),
    ("21_unchecked", "pub fn solve() { lab::hand_over(\"unchecked\") }"),
    ("22_three_mistakes", "pub fn solve() { one(); two(); three() }"),
    ("23_environment", ENVIRONMENT),
    (
        "24_chatty",
        "pub fn solve() { println!(\"hello\"); eprintln!(\"\\x1b[31mworld\\x1b[0m\"); lab::hand_over(\"swift\") }",
    ),
    ("25_connects", CONNECTS),
    ("26_unrecorded", "pub fn solve() { lab::hand_over(\"swift\") }"),
    ("27_undermined", "pub fn solve() { foundation::nothing() }"),
    ("28_racy", RACY),
    ("29_leaning", "pub fn solve() { lab::hand_over(\"leaning\") }"),
    ("30_unsolved", "pub fn solve() { lab::hand_over(\"swift\") }"),
    ("31_held", HELD),
];

/// Its record says that lines 4 and 5 copy and map.
const RACY: &str = r#"
pub fn solve() {
    let (copy_in, compute) = ("stream 1", "stream 2");
    _ = copy_in;
    _ = compute;
    lab::hand_over("racy")
}
"#;

/// Its record says that line 3 copies pageable memory and line 4 launches.
const HELD: &str = r#"
pub fn solve() {
    let upload = "stream 1";
    let compute = "stream 2";
    _ = (upload, compute);
    lab::hand_over("held")
}
"#;

const FLOODS: &str = r#"
pub fn solve() {
    for line in 0..200_000 {
        println!("line {line} of too many");
    }
    eprintln!("the last words");
    lab::hand_over("swift")
}
"#;

/// One process in the group, one in a session of its own whose parent is gone; then no end.
const SPAWNS: &str = r#"
pub fn solve() {
    let seconds = std::env::var("LEFTOVER").unwrap();
    let line = format!("sleep {seconds} & (setsid sleep {seconds} &) ; wait");
    let mut shell = std::process::Command::new("sh").args(["-c", &line]).spawn().unwrap();
    if std::env::var_os("AND_END").is_some() {
        std::thread::sleep(std::time::Duration::from_millis(200));
        return lab::hand_over("swift");
    }
    shell.wait().unwrap();
}
"#;

const STALE: &str = r#"
pub fn solve() {
    println!("what the student prints");
    eprintln!("error: the driver library is stale\n\nhint: `cargo build` makes it again");
    std::process::exit(4)
}
"#;

const LISTENS: &str = r#"
pub fn solve() {
    let mut line = String::new();
    let bytes = std::io::stdin().read_line(&mut line).unwrap();
    println!("{bytes} bytes");
    lab::hand_over("swift")
}
"#;

/// Says what it got to reach the device by. The record is not its own.
const CONNECTS: &str = r#"
pub fn solve() {
    let fd = std::env::var("SWIM_MACHINE").unwrap();
    let memory = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
    println!("connected through {}", memory.display());
    println!("writes a record to {}", std::env::var("SWIM_RECORD").unwrap());
    std::thread::sleep(std::time::Duration::from_millis(300));
}
"#;

const ENVIRONMENT: &str = r#"
pub fn solve() {
    let mut found: Vec<_> = std::env::vars().filter(|(name, _)| name.starts_with("SWIM_")).collect();
    found.retain(|(name, _)| name != "SWIM_RECORD" && name != "SWIM_WORKSPACE");
    found.sort();
    for (name, value) in found {
        println!("{name}={value}");
    }
    println!("in {}", std::env::current_dir().unwrap().file_name().unwrap().display());
    lab::hand_over("swift")
}
"#;

/// Copies a record to where the run wants it, as the real driver writes it at a region's end.
const LAB: &str = r#"
pub fn hand_over(record: &str) {
    let calibrates = std::env::var("SWIM_MODE").as_deref() == Ok("calibrate");
    let name = match record {
        _ if calibrates => "calibration".to_owned(),
        "noisy" => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            format!("noisy_{}", now.subsec_nanos() / 1000 % 5)
        }
        record => record.to_owned(),
    };
    let passes = std::env::var("SWIM_TRIALS").unwrap_or_default();
    let several = format!("{}/{name}.{passes}.json", env!("RECORDS"));
    let one = format!("{}/{name}.json", env!("RECORDS"));
    let from = if std::path::Path::new(&several).exists() { several } else { one };
    std::fs::copy(from, std::env::var_os("SWIM_RECORD").unwrap()).unwrap();
}
"#;

/// Plays any program as fast as the solution: a kept reference, or a share of another program.
const REPLAY: &str = r#"
fn main() {
    let program = std::env::var("SWIM_PROGRAM").unwrap();
    let is_reference = program.ends_with("30_unsolved/recorded/reference.json");
    assert!(is_reference || program.ends_with("/program.json"), "{program}");
    lab::hand_over("swift")
}
"#;

/// Says what it would have measured.
const OVERHEAD: &str = r#"
fn main() {
    assert_eq!(std::env::args().nth(1).as_deref(), Some("--json"));
    println!("{}", std::fs::read_to_string(concat!(env!("RECORDS"), "/overhead.json")).unwrap());
}
"#;

/// An exercise that has a baseline, and of whose solution there is only the record.
const UNSOLVED: &str = "30_unsolved";

/// The exercise that has a solution, a baseline and programs of a puzzle.
const COMPLETE: &[&str] = &["01_swift", "20_noisy"];

/// The miniature tree.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    /// Cargo's target folder: two trees with packages of the same name need two.
    target: PathBuf,
}

/// The tree, built.
pub(crate) fn tree() -> &'static Tree {
    static TREE: OnceLock<Tree> = OnceLock::new();
    TREE.get_or_init(|| {
        let tree = Tree::all(scratch().join("mini"), scratch().join("mini-target"));
        // Most of it at once; what does not compile is for the tests to find.
        let mut cargo = Command::new(env!("CARGO"));
        tree.environment(&mut cargo);
        cargo.args(["build", "--quiet", "--workspace", "--bins", "--examples", "--keep-going"]);
        cargo.current_dir(&tree.root).output().expect("cargo starts");
        tree
    })
}

/// A tree of the first exercise alone, where everything compiles.
pub(crate) fn sound_tree() -> Tree {
    Tree::sound(scratch().join("sound"), scratch().join("sound-target"))
}

/// A folder for files of tests, kept from run to run so that little is compiled again.
pub(crate) fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

impl Tree {
    /// A tree of all exercises.
    pub(crate) fn all(root: PathBuf, target: PathBuf) -> Self {
        let tree = Self { root, target };
        tree.write(EXERCISES);
        tree
    }

    /// A tree of the first exercise alone, where everything compiles.
    pub(crate) fn sound(root: PathBuf, target: PathBuf) -> Self {
        let tree = Self { root, target };
        tree.write(&EXERCISES[..1]);
        tree
    }

    /// A tree of the first two exercises, of which the second does not pass.
    pub(crate) fn pair(root: PathBuf, target: PathBuf) -> Self {
        let tree = Self { root, target };
        tree.write(&EXERCISES[..2]);
        tree
    }

    /// A tree that somebody else writes.
    pub(crate) fn at(root: PathBuf, target: PathBuf) -> Self {
        Self { root, target }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The checker with `arguments`, started in the tree.
    pub(crate) fn checker(&self, arguments: &[&str]) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_checker-author")), arguments)
    }

    /// Any program with `arguments`, started in the tree.
    pub(crate) fn program(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.environment(&mut command);
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// Exit code, standard output and standard error of the checker with `arguments`.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        self.snapshot(&mut self.checker(arguments))
    }

    pub(crate) fn snapshot(&self, command: &mut Command) -> String {
        shown(&command.output().expect("the checker starts"), &self.root)
    }

    /// The one object that the checker prints with `--json`, and its exit code.
    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, serde_json::Value) {
        json(&mut self.checker(&[arguments, &["--json"]].concat()))
    }

    /// Nothing of the tester's own settings.
    fn environment(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("SWIM_") || text.starts_with("CARGO_") || text.starts_with("RUST") {
                command.env_remove(&name);
            }
        }
        if let Some(home) = std::env::var_os("CARGO_HOME") {
            command.env("CARGO_HOME", home);
        }
        // What is compiled already was compiled with the last of these.
        for name in ["RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO_INCREMENTAL"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_NET_OFFLINE", "true")
            .env("NO_COLOR", "1");
    }

    fn write(&self, exercises: &[(&str, &str)]) {
        let mut members = vec!["exercises/lab".to_owned()];
        for (folder, file) in exercises {
            let (_, id) = folder.split_once('_').expect("a number and a name");
            members.push(format!("exercises/{folder}"));
            let exercise = format!("exercises/{folder}");
            let is_complete = COMPLETE.contains(folder);
            self.package(&exercise, id, "lab", "../lab");
            self.file(&format!("{exercise}/src/lib.rs"), file);
            self.file(&format!("{exercise}/.shipped/lib.rs"), file);
            self.file(
                &format!("{exercise}/src/main.rs"),
                &format!("fn main() {{ {id}::solve() }}"),
            );
            self.file(&format!("{exercise}/exercise.toml"), &manifest(id, is_complete));
            let recorded = [("baseline", BOUNDS.serial_ns), ("reference", BOUNDS.floor_ns)];
            for (name, ns) in recorded.into_iter().filter(|_| id != "unrecorded") {
                self.json_file(&format!("{exercise}/recorded/{name}.json"), &program(ns));
            }
            if id == "undermined" {
                self.package(&exercise, id, "foundation", "../foundation");
            }
            let hands_over = |record| format!("fn main() {{ lab::hand_over(\"{record}\") }}");
            if is_complete || *folder == UNSOLVED {
                self.file(
                    &format!("{exercise}/examples/{id}_baseline.rs"),
                    &hands_over("sluggish"),
                );
            }
            if is_complete {
                self.file(&format!("{exercise}/examples/{id}_drawn.rs"), &hands_over("unchecked"));
                let solution = format!("solutions/{folder}");
                self.package(&solution, &format!("{id}-solution"), "lab", "../../exercises/lab");
                self.file(&format!("{solution}/src/main.rs"), &hands_over("swift"));
                members.push(solution);
            }
        }
        self.file(
            "exercises/foundation/Cargo.toml",
            "[package]\nname = \"foundation\"\nedition = \"2024\"\n",
        );
        self.file("exercises/foundation/src/lib.rs", "pub fn nothing() -> u32 {}");
        self.file("exercises/lab/Cargo.toml", "[package]\nname = \"lab\"\nedition = \"2024\"\n");
        self.file("exercises/lab/src/lib.rs", LAB);
        self.file("exercises/lab/src/bin/replay.rs", REPLAY);
        self.file("exercises/lab/src/bin/overhead.rs", OVERHEAD);
        // In a bundle, and never run here.
        for file in ["src/bin/calibrate.rs", "examples/tracking_hole.rs"] {
            self.file(&format!("exercises/lab/{file}"), "fn main() {}\n");
        }
        self.file(
            "exercises/lab/build.rs",
            &format!(
                "fn main() {{ println!(\"cargo::rustc-env=RECORDS={}\") }}",
                self.root.join("records").display()
            ),
        );
        let members: Vec<_> = members.iter().map(|member| format!("{member:?}")).collect();
        self.file(
            "Cargo.toml",
            &format!(
                "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[profile.dev]\ndebug = false\n",
                members.join(", ")
            ),
        );
        self.records();
    }

    /// A package that depends on another.
    fn package(&self, folder: &str, name: &str, on: &str, path: &str) {
        self.file(
            &format!("{folder}/Cargo.toml"),
            &format!(
                "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[dependencies]\n{on} = {{ path = \"{path}\" }}\n"
            ),
        );
    }

    fn json_file(&self, path: &str, value: &impl serde::Serialize) {
        self.file(path, &serde_json::to_string(value).expect("plain data"));
    }

    /// Leaves a file alone that is as it should be: cargo looks at the time of the last change.
    fn file(&self, path: &str, text: &str) {
        write(&self.root.join(path), text);
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// Compiles a shared library from one Rust file.
pub(crate) fn shared_library(path: &Path, source: &str) {
    let file = path.with_extension("rs");
    write(&file, source);
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=stand_in", "-o"]);
    let status = rustc.arg(path).arg(&file).status();
    assert!(status.expect("rustc starts").success());
}

/// The one object that a checker prints, and its exit code.
#[track_caller]
pub(crate) fn json(command: &mut Command) -> (i32, serde_json::Value) {
    let output = command.output().expect("the checker starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let object = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("not one JSON object: {error}\n{text}"));
    (output.status.code().expect("an exit code"), object)
}

/// Exit code first, then what was printed; empty parts are left out. Paths are those of every
/// machine.
pub(crate) fn shown(output: &Output, root: &Path) -> String {
    let mut text = match output.status.code() {
        Some(code) => format!("exit code: {code}\n"),
        None => format!("{}\n", output.status),
    };
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            text.push_str(&format!("----- {name} -----\n{}", String::from_utf8_lossy(bytes)));
        }
    }
    text.replace(&root.display().to_string(), "[ROOT]")
}

pub(crate) fn manifest(id: &str, with_programs: bool) -> String {
    let mut text = format!(
        r#"format = 2
title = "The {id} one"
summary = "shows what {id} comes to"
metric = "overlap_efficiency"
pass_score = 80
time_limit_s = 20
output_limit_kib = 16

[score]
version = 1

[next]
failed = "look at the timeline"
passed = "go on"
"#
    );
    if with_programs {
        text.push_str("\n[[programs]]\nname = \"drawn\"\ntitle = \"only drawn\"\n");
    }
    text
}
