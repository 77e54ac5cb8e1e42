//! Chapters as their authors make them: what `dev new` starts, and what `dev check` says of one that is
//! broken.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use crate::real::{Real, real, started};
use crate::tree::write;

#[test]
fn every_exercise_is_fit_to_be_graded() {
    let text = real().run(&["dev", "check", "--only", "exercise"]);
    assert!(text.starts_with("exit code: 0\n"), "{text}");
}

#[test]
fn a_chapter_that_was_started_compiles_and_lists_what_is_still_to_be_written() {
    let started = started();
    let made = started.run(&["dev", "new", "90_river"]);
    // What all chapters share is three lists; each more is one to keep in step, and to merge.
    assert_eq!(made.matches("\nadded to ").count(), 3, "{made}");
    assert_snapshot!(made);
    let cargo =
        |arguments: &[&str]| -> Command { started.program(Path::new(env!("CARGO")), arguments) };
    for arguments in [
        &["fmt", "--all", "--", "--check"][..],
        &["build", "--quiet", "-p", "river", "-p", "river-solution", "--all-targets"],
    ] {
        let output = cargo(arguments).output().expect("cargo starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
    }
    let text = started.run(&["dev", "record", "river", "--no-snapshots"]);
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    assert_snapshot!(started.run(&["dev", "check", "river", "--only", "exercise"]));
    // Once is enough.
    assert_snapshot!(started.run(&["dev", "new", "90_river"]), @"
    exit code: 2
    ----- stderr -----
    error: there is `90_river` already
    ");
    assert_snapshot!(started.run(&["dev", "new", "river"]), @"
    exit code: 2
    ----- stderr -----
    error: `river` is not `NN_name`, as in `05_events`
    ");
}

/// Files of a copy of the workspace that are changed, and are themselves again in the end.
struct Broken {
    real: Real,
    before: Vec<(String, Option<String>)>,
}

impl Broken {
    fn new() -> Self {
        Self { real: real(), before: Vec::new() }
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.real.root().join(path)).ok()
    }

    fn with(mut self, path: &str, text: Option<&str>) -> Self {
        self.before.push((path.to_owned(), self.read(path)));
        let file = self.real.root().join(path);
        match text {
            Some(text) => write(&file, text),
            None => std::fs::remove_file(file).expect("it goes"),
        }
        self
    }

    #[track_caller]
    fn replaced(self, path: &str, from: &str, to: &str) -> Self {
        let text = self.read(path).unwrap_or_else(|| panic!("no `{path}`"));
        assert!(text.contains(from), "`{path}` has changed; so must this test");
        self.with(path, Some(&text.replacen(from, to, 1)))
    }

    fn recorded(self, id: &str) -> Self {
        let folder = format!("exercises/04_{id}/recorded");
        let files = ["baseline.json", "reference.json"].map(|name| format!("{folder}/{name}"));
        let broken = files.iter().fold(self, |broken, file| {
            let text = broken.read(file);
            broken.with(file, text.as_deref())
        });
        let text = broken.real.run(&["dev", "record", id, "--no-snapshots"]);
        assert!(text.starts_with("exit code: 0\n"), "{text}");
        broken
    }

    fn check(&self, id: &str) -> String {
        self.real.run(&["dev", "check", id, "--only", "exercise"])
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        for (path, text) in self.before.drain(..).rev() {
            if let Some(text) = text {
                write(&self.real.root().join(path), &text);
            }
        }
    }
}

const EXERCISE: &str = "exercises/04_three_lanes";
const SOLUTION: &str = "solutions/04_three_lanes/src/lib.rs";

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let broken = Broken::new()
        .replaced(&format!("{EXERCISE}/exercise.toml"), "\"SWIM-C01\"", "\"SWIM-C02\"")
        .replaced(&format!("{EXERCISE}/exercise.toml"), "summary = \"", "summary = \"WRITE: ")
        .replaced(
            &format!("{EXERCISE}/examples/three_lanes_blocking.rs"),
            "    lab.region(|| {\n",
            "    let never = 1;\n    lab.region(|| {\n",
        )
        .replaced(
            &format!("{EXERCISE}/src/lib.rs"),
            "    // region: memory\n",
            "    // region: host\n",
        )
        .replaced(SOLUTION, "The clock runs from here to the end", "The clock runs to the end")
        .replaced(
            &format!("{EXERCISE}/exercise.toml"),
            "code = \"SWIM-C03\"",
            "code = \"SWIM-X03\"",
        );
    assert_snapshot!(broken.check("three_lanes"), @"
exit code: 1
----- stdout -----
exercises/04_three_lanes/src/lib.rs:21: the student's file is not the shipped one: `cargo run -- dev record three_lanes` ships it
solutions/04_three_lanes/src/lib.rs:19: outside of its regions the solution has to be the shipped file, whose line 26 is `// The clock runs from here to the end of the closure.`
exercises/04_three_lanes/examples/three_lanes_blocking.rs:11: unused variable: `never`
exercises/04_three_lanes/exercise.toml: not what lies in `.shipped`: `cargo run -- dev record three_lanes`
exercises/04_three_lanes/exercise.toml: no hints for `SWIM-C02`, which the exercise is about
exercises/04_three_lanes/exercise.toml:3: still to be written: let kernels, downloads and uploads run at the same time
exercises/04_three_lanes/exercise.toml:5: a run of the shipped file finds `SWIM-C01` first, not `SWIM-C02`
exercises/04_three_lanes/exercise.toml:76: `SWIM-X03` is no code
book/figures/three_lanes.blocking.json.gz: not what program `blocking` does today: `cargo run -- dev record three_lanes`
three_lanes: 9 problems
");
}

#[test]
fn recordings_that_are_stale_or_missing_are_named() {
    let broken = Broken::new()
        .replaced(&format!("{EXERCISE}/recorded/baseline.json"), "\"steps\":[", "\"steps\": [")
        .with(&format!("{EXERCISE}/recorded/reference.json"), None);
    assert_snapshot!(broken.check("three_lanes"), @"
    exit code: 1
    ----- stdout -----
    exercises/04_three_lanes/recorded/baseline.json: not what the baseline asks for today: `cargo run -- dev record three_lanes`
    exercises/04_three_lanes/recorded/reference.json: not there yet: `cargo run -- dev record three_lanes`
    three_lanes: 2 problems
    ");
}

#[test]
fn a_number_that_no_file_asks_for_and_a_time_that_nothing_takes_any_more_are_named() {
    let broken = Broken::new();
    let times = broken.read("book/figures/times.txt").expect("the times");
    let others: Vec<&str> =
        times.lines().filter(|line| !line.starts_with("three_lanes.unwaited ")).collect();
    let numbered = "title = \"blocking\"\nnumbers = { n = 3 }\n";
    let broken = broken
        .replaced(&format!("{EXERCISE}/exercise.toml"), "title = \"blocking\"\n", numbered)
        .replaced(&format!("{EXERCISE}/.shipped/exercise.toml"), "title = \"blocking\"\n", numbered)
        .with("book/figures/times.txt", Some(&(others.join("\n") + "\n")));
    assert_snapshot!(broken.check("three_lanes"), @"
exit code: 1
----- stdout -----
exercises/04_three_lanes/exercise.toml:35: `blocking` has a number `n`, and its file asks for none
book/figures/times.txt: `three_lanes.unwaited` does not take today what stands here: `cargo run -- dev record three_lanes`
three_lanes: 2 problems
");
}

#[test]
fn a_shipped_file_that_is_solved_is_none() {
    let broken = Broken::new();
    let solved = broken.read(SOLUTION).expect("the solution");
    let broken = broken
        .with(&format!("{EXERCISE}/src/lib.rs"), Some(&solved))
        .with(&format!("{EXERCISE}/.shipped/lib.rs"), Some(&solved));
    assert_snapshot!(broken.check("three_lanes"), @"
exit code: 1
----- stdout -----
exercises/04_three_lanes/src/lib.rs:6: the shipped file scores 100.0, not 0 (score 100.0, and 80 is enough)
solutions/04_three_lanes/src/lib.rs: the solution adds nothing to the shipped file
exercises/04_three_lanes/exercise.toml:5: a run of the shipped file finds nothing first, not `SWIM-C01`
three_lanes: 3 problems
");
}

#[test]
fn a_solution_that_does_not_compile_or_races_is_named_by_its_line() {
    let broken =
        Broken::new().replaced(SOLUTION, "let plan = plan.pin", "let plan: u32 = plan.pin");
    let text = broken.check("three_lanes");
    assert!(text.contains(&format!("{SOLUTION}:15: mismatched types")), "{text}");
    drop(broken);
    let chunked = "solutions/07_chunked_pipeline/src/lib.rs";
    let broken = Broken::new().replaced(chunked, "compute.wait(&uploaded)?;", "drop(uploaded);");
    let text = broken.check("chunked_pipeline");
    assert!(text.contains(&format!("{chunked}:6: gate `output`: the output is wrong")), "{text}");
}

/// As the solution, but half of the uploads are in the stream of the downloads.
const NEARLY: &str = "
        for (index, block) in blocks.upload.iter_mut().enumerate() {
            let stream = if index < 8 { &download } else { &upload };
            stream.memcpy_htod(&block.host, &mut block.device)?;
        }";

#[test]
fn a_baseline_that_is_nearly_the_solution_is_too_near() {
    let broken = Broken::new();
    let solved = broken.read(SOLUTION).expect("the solution");
    let loop_of_uploads = "
        for block in &mut blocks.upload {
            upload.memcpy_htod(&block.host, &mut block.device)?;
        }";
    assert!(solved.contains(loop_of_uploads), "the solution has changed; so must this test");
    let main = "\nfn main() -> std::process::ExitCode {\n    lab::exercise!(swim)\n}\n";
    let nearly = solved.replace(loop_of_uploads, NEARLY).replace("pub fn", "fn") + main;
    let broken =
        broken.with(&format!("{EXERCISE}/baseline.rs"), Some(&nearly)).recorded("three_lanes");
    assert_snapshot!(broken.check("three_lanes"), @"
    exit code: 1
    ----- stdout -----
    solutions/04_three_lanes/src/lib.rs:6: baseline and solution are 0.14 apart, and 0.2 is the least
    three_lanes: 1 problem
    ");
}
