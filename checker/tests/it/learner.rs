//! What a student keeps from one command to the next: progress, and files that were reset.

use std::path::Path;

use insta::assert_snapshot;

use crate::terminal::Terminal;
use crate::tree::{Tree, scratch, write};

/// A tree of one exercise that nobody has touched, in a folder of its own: these tests change it.
pub(crate) fn fresh(name: &str) -> Tree {
    let root = scratch().join("learner").join(name);
    _ = std::fs::remove_dir_all(&root);
    Tree::sound(root, scratch().join("sound-target"))
}

fn read(tree: &Tree, path: &str) -> String {
    std::fs::read_to_string(tree.root().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

const FILE: &str = "exercises/01_swift/src/lib.rs";
const EDITED: &str = "// mine\npub fn solve() { lab::hand_over(\"swift\") }";

fn edit(tree: &Tree, text: &str) {
    std::fs::write(tree.root().join(FILE), text).expect("the student's file");
}

#[test]
fn the_first_call_welcomes_and_names_one_thing_to_do() {
    assert_snapshot!(fresh("welcome").run(&[]), @"
    exit code: 0
    ----- stdout -----
    0 of 1 exercise passed

    Each exercise is one file that you change. The checker runs it on a simulated GPU,
    draws what the device did, and says how much of the possible overlap you got.

    next: The swift one: shows what swift comes to
          edit `exercises/01_swift/src/lib.rs`, then `cargo run -- run swift`
          or let `cargo run -- watch` run it whenever you save

    `cargo run -- list` names all exercises, `cargo run -- --help` all commands
    ");
}

#[test]
fn a_pass_is_kept_and_shown_and_the_next_call_says_so() {
    let tree = fresh("pass");
    tree.run(&["run", "swift", "--device", "sim"]);
    assert_snapshot!(tree.run(&[]), @"
    exit code: 0
    ----- stdout -----
    1 of 1 exercise passed

    You have passed them all.

    `cargo run -- list` names all exercises, `cargo run -- --help` all commands
    ");
    assert_snapshot!(tree.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    01 swift  The swift one  passed with 100.0

    `cargo run -- list --programs` names the programs of each chapter too
    ");
    let text = read(&tree, "progress.txt");
    assert!(text.contains("\nprogress 1\npassed swift 100.0 "), "{text}");
}

#[test]
fn a_run_says_what_changed_against_the_last_one_and_the_best() {
    let tree = fresh("changes");
    let hand_over = |record: &str| {
        edit(&tree, &format!("pub fn solve() {{ lab::hand_over(\"{record}\") }}"));
        let text = tree.run(&["run", "swift", "--device", "sim"]);
        let is_about = |line: &&str| {
            line.starts_with("makespan")
                || line.contains("your last run")
                || line.contains("your best")
        };
        text.lines().filter(is_about).map(|line| format!("{line}\n")).collect::<String>()
    };
    let runs = ["held", "held", "sluggish", "racy", "swift", "sluggish"].map(hand_over);
    assert_snapshot!(runs.join("\n"), @"
    makespan             10.7 ms

    makespan             10.7 ms

    makespan             3.00 ms
    since your last run  10.7 ms to 3.00 ms: copies no longer block the host
    your best            this run

    makespan             1.05 ms

    makespan             1.05 ms
    since your last run  3.00 ms to 1.05 ms
    your best            this run

    makespan             3.00 ms
    since your last run  1.05 ms to 3.00 ms
    your best            1.05 ms
    ");
}

#[test]
fn how_the_score_comes_about_is_said_to_whoever_asks() {
    let text = fresh("formula").run(&["run", "swift", "--device", "sim", "--explain-score"]);
    let from = text.find("how the score comes about").unwrap_or_else(|| panic!("{text}"));
    let to = text.find("\npassed").unwrap_or_else(|| panic!("{text}"));
    assert_snapshot!(&text[from..to], @"
    how the score comes about:
      serial = 3.00 ms, each engine's work alone, added up
      overlap efficiency = (serial - makespan) / (serial - lower bound) = 97.5 %
      the baseline comes to 0.0 %, the reference to 100.0 %
      score = 100 x (97.5 % - 0.0 % - 0.05 x 100.0 %) / (0.9 x 100.0 %), kept within 0 and 100
      This is rule 1: the first 0.05 of the way from the baseline count nothing, and the last 0.05 too.
    ");
}

#[test]
fn solution_and_baseline_are_not_the_students_passes() {
    let tree = fresh("roles");
    for role in ["--solution", "--baseline"] {
        tree.run(&["run", "swift", role, "--device", "sim"]);
    }
    assert!(!tree.root().join("progress.txt").exists());
}

#[test]
fn a_pass_on_another_device_is_shown_and_not_kept() {
    let tree = fresh("unusual");
    let text = tree.run(&["run", "swift", "--profile", "one_engine"]);
    assert!(text.contains("\npassed: ") && text.contains("note: a pass counts on"), "{text}");
    assert!(!read(&tree, "progress.txt").contains("passed"));
    tree.run(&["run", "swift", "--profile", "h200"]);
    assert!(
        read(&tree, "progress.txt").contains("passed swift 100.0 "),
        "the usual one by its name"
    );
}

#[test]
fn a_run_on_another_schedule_looks_at_the_gates_and_gives_no_score() {
    let tree = fresh("scheduled");
    let text = tree.run(&["run", "swift", "--schedule", "7", "--plain"]);
    assert!(text.starts_with("exit code: 0\n") && text.contains("\nhost "), "{text}");
    let said = "\ncorrect on this schedule: all gates are clear; a run with `--schedule` checks that alone, and gets no score";
    assert!(text.contains(said) && !text.contains("\nscore "), "{text}");
    assert!(
        !tree.root().join("progress.txt").exists()
            || !read(&tree, "progress.txt").contains("passed")
    );

    // No baseline and no reference are there: nothing is compared with them.
    let tree = crate::tree::tree();
    let (status, object) = tree.json(&["run", "unrecorded", "--schedule", "7"]);
    assert_eq!((status, &object["score"]), (0, &serde_json::Value::Null), "{object:#}");
    let (status, object) = tree.json(&["run", "racy", "--schedule", "7"]);
    assert_eq!(
        (status, &object["gate"], &object["score"]),
        (1, &"hazard".into(), &serde_json::Value::Null)
    );
}

#[test]
fn a_pass_of_an_exercise_that_has_changed_is_stale() {
    let tree = fresh("stale");
    tree.run(&["run", "swift", "--device", "sim"]);
    let manifest = read(&tree, "exercises/01_swift/exercise.toml");
    write(
        &tree.root().join("exercises/01_swift/exercise.toml"),
        &manifest.replace("pass_score = 80", "pass_score = 90"),
    );
    let (_, list) = tree.json(&["list"]);
    assert_eq!(list["exercises"][0]["stale"], true);
    let (_, overview) = tree.json(&[]);
    assert_eq!((&overview["passed"], &overview["next"]), (&0.into(), &"swift".into()));
}

#[test]
fn other_hints_and_another_puzzle_leave_a_pass_as_it_is() {
    let tree = fresh("reworded");
    tree.run(&["run", "swift", "--device", "sim"]);
    add(&tree, &format!("{PUZZLE}\n{HINTS}").replace("\"slow\"", "\"drawn\""));
    let (_, list) = tree.json(&["list"]);
    assert_eq!(list["exercises"][0]["stale"], false, "{list:#}");
}

#[test]
fn lines_that_the_checker_does_not_know_are_kept() {
    let tree = fresh("unknown");
    let path = tree.root().join("progress.txt");
    std::fs::write(&path, "# my own\nprogress 1\nmedal swift gold\n").expect("a file");
    tree.run(&["run", "swift", "--device", "sim"]);
    let text = read(&tree, "progress.txt");
    assert!(
        text.starts_with("# my own\nprogress 1\nmedal swift gold\npassed swift 100.0 "),
        "{text}"
    );
}

#[test]
fn a_damaged_file_is_moved_aside_with_a_word() {
    let tree = fresh("damaged");
    let damaged = b"progress \xff\xfe".to_vec();
    std::fs::write(tree.root().join("progress.txt"), &damaged).expect("a file");
    let text = tree.run(&["run", "swift", "--device", "sim"]);
    let note = "note: `progress.txt` is not text; it is now `progress.damaged-1.txt`, and a new one begins";
    assert!(text.contains(note), "{text}");
    let kept = std::fs::read(tree.root().join("progress.damaged-1.txt")).expect("the old file");
    assert_eq!(kept, damaged);
    assert!(read(&tree, "progress.txt").contains("passed swift"));
}

#[test]
fn a_newer_checkers_file_is_left_alone() {
    let tree = fresh("newer");
    let newer = "progress 2\npassed swift with flying colours\n";
    std::fs::write(tree.root().join("progress.txt"), newer).expect("a file");
    let text = tree.run(&["run", "swift", "--device", "sim"]);
    assert!(
        text.contains(
            "cannot keep your progress in `progress.txt`: it was written by a newer checker"
        ),
        "{text}"
    );
    assert_eq!(read(&tree, "progress.txt"), newer);
}

#[test]
fn reset_brings_the_shipped_file_and_undo_brings_yours() {
    let tree = fresh("reset");
    let shipped = read(&tree, FILE);
    edit(&tree, EDITED);
    assert_snapshot!(tree.run(&["reset", "swift"]), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is as it was shipped; yours is kept as `exercises/01_swift/.kept/1.rs`

    hint: `cargo run -- undo swift` brings it back
    ");
    assert_eq!(read(&tree, FILE), shipped);
    assert_snapshot!(tree.run(&["undo"]), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is version 1 again

    hint: version 1 is kept; `cargo run -- undo swift --to N` takes any of them
    ");
    assert_eq!(read(&tree, FILE), EDITED);
    // The shipped file is never lost, so it is not kept; and there is nothing before the oldest.
    assert_snapshot!(tree.run(&["undo", "swift"]), @"
    exit code: 2
    ----- stderr -----
    error: this is the oldest version of `swift` that was kept

    hint: version 1 is kept; `cargo run -- undo swift --to N` takes any of them, `cargo run -- reset swift` the shipped file
    ");
    assert_eq!(read(&tree, FILE), EDITED);
}

#[test]
fn undo_walks_back_through_all_versions_and_loses_none() {
    let tree = fresh("walks");
    let versions = ["// one\n", "// two\n", "// three\n"];
    for text in versions {
        edit(&tree, text);
        tree.run(&["reset", "swift"]);
    }
    for text in ["// three\n", "// two\n", "// one\n"] {
        tree.run(&["undo"]);
        assert_eq!(read(&tree, FILE), text);
    }
    // What was edited meanwhile is kept too, and is the newest.
    edit(&tree, "// four\n");
    tree.run(&["undo", "swift"]);
    assert_eq!(read(&tree, FILE), "// three\n");
    assert_snapshot!(tree.run(&["undo", "--to", "4"]), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is version 4 again; what it was is kept as `exercises/01_swift/.kept/3.rs`

    hint: versions 1 to 4 are kept; `cargo run -- undo swift --to N` takes any of them
    ");
    assert_eq!(read(&tree, FILE), "// four\n");
    assert_snapshot!(tree.run(&["undo", "--to", "7"]), @"
    exit code: 2
    ----- stderr -----
    error: there is no version 7; versions 1 to 4 are kept
    ");
}

const MARKED: &str =
    "pub fn solve() {\n    // region: work\n    // endregion\n    lab::hand_over(\"swift\")\n}\n";

/// A tree whose file has a region.
fn marked(name: &str) -> Tree {
    let tree = fresh(name);
    edit(&tree, MARKED);
    write(&tree.root().join("exercises/01_swift/.shipped/lib.rs"), MARKED);
    tree
}

#[test]
fn an_edit_outside_of_the_regions_is_said_and_can_be_undone_alone() {
    let tree = marked("outside");
    let inside = MARKED.replace("work\n", "work\n    let _mine = 1;\n");
    edit(&tree, &inside);
    assert!(!tree.run(&["run", "swift", "--device", "sim"]).contains("region` marks"));

    edit(&tree, &inside.replace("    lab", "    let _slip = 2;\n    lab"));
    let text = tree.run(&["run", "swift", "--device", "sim"]);
    let note = text.lines().find(|line| line.contains("region` marks")).expect("a note");
    assert_snapshot!(note, @"note: `exercises/01_swift/src/lib.rs:5`, outside of the `region` marks, is `let _slip = 2;`, which was not shipped; `cargo run -- reset swift --outside` puts back what is outside, and keeps what is inside");
    assert_snapshot!(tree.run(&["reset", "swift", "--outside"]), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is as it was shipped outside of its regions, and yours inside; what it was is kept as `exercises/01_swift/.kept/1.rs`

    hint: `cargo run -- undo swift` brings it back
    ");
    assert_eq!(read(&tree, FILE), inside);
    assert_snapshot!(tree.run(&["reset", "swift", "--outside"]), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is as it was shipped outside of its regions
    ");
}

#[test]
fn a_file_that_is_gone_is_missed_and_reset_brings_it_back_without_cargo() {
    let tree = fresh("gone");
    let shipped = read(&tree, FILE);
    std::fs::remove_file(tree.root().join(FILE)).expect("it was there");
    assert_snapshot!(tree.run(&["run", "swift", "--device", "sim"]), @"
    exit code: 2
    ----- stderr -----
    error: there is no `exercises/01_swift/src/lib.rs`

    hint: `checker reset swift` brings it back; cargo needs it too, so without `checker` in your path type `target/debug/checker reset swift`
    ");
    let (_, list) = tree.json(&["list"]);
    assert_eq!(list["exercises"][0]["state"], "missing");
    let mut reset = tree.checker(&["reset", "swift"]);
    assert_snapshot!(tree.snapshot(reset.env("CARGO", "/no/cargo").env("PATH", "/none")), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is there again, as it was shipped
    ");
    assert_eq!(read(&tree, FILE), shipped);
}

#[test]
fn manifests_that_are_gone_or_broken_come_back_and_what_they_held_is_kept() {
    let tree = fresh("manifests");
    let names = ["exercise.toml", "Cargo.toml"];
    let paths = names.map(|name| format!("exercises/01_swift/{name}"));
    let sound = [read(&tree, &paths[0]), read(&tree, &paths[1])];
    for (name, text) in names.iter().zip(&sound) {
        write(&tree.root().join("exercises/01_swift/.shipped").join(name), text);
    }
    write(&tree.root().join(&paths[0]), "format = 2\ntitle = \"half");
    std::fs::remove_file(tree.root().join(&paths[1])).expect("it was there");
    let text = tree.run(&["run", "swift"]);
    assert!(text.contains("hint: `cargo run -- reset swift` brings it back"), "{text}");
    assert_snapshot!(tree.run(&["reset", "swift"]), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is as it was shipped
    `exercises/01_swift/exercise.toml` is as it was shipped again
    `exercises/01_swift/Cargo.toml` is as it was shipped again
    ");
    assert_eq!([read(&tree, &paths[0]), read(&tree, &paths[1])], sound);
    assert_eq!(read(&tree, "exercises/01_swift/.kept/exercise.toml"), "format = 2\ntitle = \"half");
    std::fs::remove_file(tree.root().join(&paths[0])).expect("it was there");
    tree.run(&["reset", "1"]);
    assert_eq!(read(&tree, &paths[0]), sound[0], "an exercise without its manifest is still one");
}

#[test]
fn what_was_reset_twice_is_kept_twice() {
    let tree = fresh("twice");
    for text in ["// one\n", "// two\n"] {
        edit(&tree, text);
        tree.run(&["reset", "swift"]);
    }
    let kept = |n: u32| read(&tree, &format!("exercises/01_swift/.kept/{n}.rs"));
    assert_eq!((kept(1), kept(2)), ("// one\n".to_owned(), "// two\n".to_owned()));
}

#[test]
fn there_is_nothing_to_reset_or_to_take_back_in_the_beginning() {
    let tree = fresh("untouched");
    assert_snapshot!(tree.run(&["reset", "swift"]), @"
    exit code: 0
    ----- stdout -----
    `exercises/01_swift/src/lib.rs` is as it was shipped
    ");
    assert_snapshot!(tree.run(&["undo"]), @"
    exit code: 2
    ----- stderr -----
    error: there is nothing to take back: no file was reset
    ");
    assert!(!Path::new(&tree.root().join("exercises/01_swift/.kept")).exists());
}

/// Adds to what the first exercise says of itself.
fn add(tree: &Tree, more: &str) {
    let path = "exercises/01_swift/exercise.toml";
    let manifest = read(tree, path);
    write(&tree.root().join(path), &format!("{manifest}\n{more}"));
}

const HINTS: &str = r#"
[[hints]]
code = "SWIM-H01"
levels = ["two streams", "line 4", "record an event"]

[[hints]]
levels = ["look at the host", "look at its second call", "move it out of the loop"]
"#;

#[test]
fn hints_come_one_by_one_and_stay() {
    let tree = fresh("hints");
    add(&tree, HINTS);
    assert_snapshot!(tree.run(&["hint", "swift"]), @"
    exit code: 0
    ----- stdout -----
    1. look at the host

    `cargo run -- hint swift` has 2 more
    ");
    tree.run(&["hint", "swift"]);
    assert_snapshot!(tree.run(&["hint", "swift"]), @"
    exit code: 0
    ----- stdout -----
    1. look at the host
    2. look at its second call
    3. move it out of the loop
    ");
    assert_eq!(tree.run(&["hint", "swift"]), tree.run(&["hint"]), "the last one stays");
    assert!(read(&tree, "progress.txt").ends_with("hint swift - 3\n"));
}

#[test]
fn the_first_hint_is_about_what_the_run_found() {
    let tree = fresh("diagnosed");
    add(&tree, HINTS);
    edit(&tree, "pub fn solve() { lab::hand_over(\"racy\") }");
    tree.run(&["run", "swift", "--device", "sim"]);
    assert_snapshot!(tree.run(&["hint", "swift"]), @"
    exit code: 0
    ----- stdout -----
    your last run found SWIM-H01; `cargo run -- explain SWIM-H01` tells more

    1. two streams

    `cargo run -- hint swift` has 2 more
    ");
    edit(&tree, EDITED);
    tree.run(&["run", "swift", "--device", "sim"]);
    let (_, object) = tree.json(&["hint", "swift"]);
    assert_eq!((&object["code"], &object["level"]), (&serde_json::Value::Null, &1.into()));
}

#[test]
fn an_exercise_without_hints_says_so() {
    assert_snapshot!(fresh("no-hints").run(&["hint", "swift"]), @"
    exit code: 2
    ----- stderr -----
    error: `swift` has no hints
    ");
}

const PUZZLE: &str = r#"
[puzzle]
id = "rank"
form = "ranking"
ask = "Which is done first?"

[[puzzle.item]]
text = "the slow one"
program = "slow"

[[puzzle.item]]
text = "the drawn one"
program = "drawn"
"#;

/// A tree whose exercise has a puzzle of two programs.
fn puzzled(name: &str) -> Tree {
    let tree = fresh(name);
    let slow = "[[programs]]\nname = \"slow\"\ntitle = \"slow\"\nexample = \"baseline\"\n";
    add(&tree, &format!("{slow}{PUZZLE}"));
    tree
}

#[test]
fn a_prediction_is_kept_and_shown_beside_what_happens() {
    let tree = puzzled("predict");
    let asked = tree.run(&[]);
    assert!(asked.contains("what do you expect? `cargo run -- predict swift` shows"), "{asked}");
    assert_snapshot!(tree.run(&["predict", "swift", "--answer", "a b"]), @"
    exit code: 0
    ----- stdout -----
    swift · what you expected, and what happened

    expected  happened
       2         1       1.40 ms  the drawn one
       1         2       3.00 ms  the slow one

    0 of 2 have the place that you expected

    next: `cargo run -- run swift --program slow` draws one of them; the chapter says why
    ");
    let kept = read(&tree, "progress.txt");
    for fact in
        ["predicted swift rank 1,2\n", "took swift slow 3000000 ", "took swift drawn 1400000 "]
    {
        assert!(kept.contains(fact), "{fact}{kept}");
    }
    // Whoever asks again sees the same, and what is known now changes nothing.
    assert_eq!(tree.run(&["predict"]), tree.run(&["predict", "swift"]));
    assert_snapshot!(tree.run(&["predict", "--answer", "b a"]), @"
    exit code: 2
    ----- stderr -----
    error: `swift` has your prediction already: it was made before you knew
    ");
    let report = tree.run(&["run", "swift", "--program", "slow", "--device", "sim"]);
    assert!(report.contains("your prediction      place 1 of 2, and it is 2\n"), "{report}");
    assert!(!tree.run(&[]).contains("predict"));
}

#[test]
fn until_there_is_a_prediction_nothing_is_given_away() {
    let tree = puzzled("unpredicted");
    let (code, object) = tree.json(&["predict", "swift"]);
    assert_eq!((code, &object["answered"]), (0, &false.into()));
    assert!(object["items"].as_array().is_some_and(|items| items.len() == 2), "{object:#}");
    assert!(!object.to_string().contains("00000"), "a time: {object:#}");
    assert!(!tree.root().join("progress.txt").exists());
    let report = tree.run(&["run", "swift", "--program", "slow", "--device", "sim"]);
    assert!(report.contains("note: `cargo run -- predict swift` asks what you expect"), "{report}");
    let (_, object) = tree.json(&["predict", "swift", "--answer", "b a"]);
    assert_eq!(object["items"][1]["place"], 1, "{object:#}");
    assert_eq!(object["items"][1]["predicted_place"], 1, "{object:#}");
}

#[test]
fn an_answer_that_is_none_is_asked_for_again_at_a_terminal() {
    let tree = puzzled("asked");
    let mut command = tree.checker(&["predict", "swift"]);
    let output = command.stdin(std::process::Stdio::null()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let mut terminal = Terminal::start(tree.checker(&["predict", "swift"]), 24, 100);
    terminal.shows("such as `b a=c d`: ");
    terminal.press("a\r");
    terminal.shows("`b` is missing; every letter has a place: ");
    terminal.press("b a\r");
    terminal.shows("2 of 2 have the place that you expected");
    assert_eq!(terminal.ended().code(), Some(0));
}

#[test]
fn an_exercise_without_a_puzzle_says_so() {
    assert_snapshot!(fresh("no-puzzle").run(&["predict", "swift"]), @"
    exit code: 2
    ----- stderr -----
    error: `swift` has no puzzle to predict
    ");
}
#[test]
fn a_prediction_shows_the_programs_that_it_is_about_and_not_what_their_files_say_of_them() {
    let tree = puzzled("shown");
    write(
        &tree.root().join("exercises/01_swift/examples/swift_drawn.rs"),
        "//! The fast one, as it turns out.\n\nuse std::time::Duration;\n\n/// A wait.\nconst WAIT: Duration = \
         Duration::ZERO;\n\nfn program() {\n    std::thread::sleep(WAIT);\n}\n\nfn main() {\n    program()\n}\n",
    );
    let mut command = tree.checker(&["predict", "swift"]);
    let text = tree.snapshot(command.stdin(std::process::Stdio::null()));
    assert_snapshot!(text, @r#"
    exit code: 2
    ----- stdout -----
    program `drawn` (examples/swift_drawn.rs)

        /// A wait.
        const WAIT: Duration = Duration::ZERO;

        fn program() {
            std::thread::sleep(WAIT);
        }

    program `slow` (examples/swift_baseline.rs)

        fn main() { lab::hand_over("sluggish") }

    Which is done first?

      a  the slow one
      b  the drawn one

    the fastest first, `=` between those that take equally long, such as `b a=c d`: 
    ----- stderr -----
    error: there was no answer

    hint: `--answer` gives one without being asked
    "#);
}
