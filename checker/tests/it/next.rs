//! What a run says to do next: it follows what went wrong first.

use crate::learner::fresh;
use crate::real::real;
use crate::tree::{Tree, scratch, tree, write};

/// The lines of `next:`.
fn next(text: &str) -> &str {
    let text = text.split("----- stderr").next().unwrap_or_default();
    text.find("\nnext: ").map_or("nothing\n", |at| &text[at + 1..])
}

#[test]
fn next_follows_the_failure() {
    let mut table = String::new();
    for (exercise, more) in [
        ("broken", &[][..]),
        ("three_mistakes", &[]),
        ("loops", &["--time-limit", "0.3"]),
        ("panics", &[]),
        ("quits", &[]),
        ("late", &[]),
        ("aborts", &[]),
        ("wrong", &[]),
        ("unchecked", &[]),
        ("twice", &[]),
        ("racy", &[]),
        ("lazy", &[]),
        ("hasty", &[]),
        ("held", &[]),
        ("stale", &[]),
    ] {
        let text = tree().run(&[&["run", exercise, "--device", "sim"], more].concat());
        table += &format!("{exercise}\n{}\n", next(&text));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_syntax_error_gets_its_line_and_not_the_question_of_the_lesson() {
    let tree = fresh("syntax");
    write(
        &tree.root().join("exercises/01_swift/src/lib.rs"),
        "pub fn solve() {\n    let streams = ;\n}\n",
    );
    let text = tree.run(&["run", "swift", "--device", "sim"]);
    insta::assert_snapshot!(next(&text), @"
    next: mend `exercises/01_swift/src/lib.rs:2`, the first error that the compiler names above
          then `cargo run -- run swift`
    ");
}

#[test]
fn a_call_that_only_a_gpu_has_is_named_with_its_line_and_what_to_use_instead() {
    let tree = fresh("unsupported");
    write(
        &tree.root().join("exercises/01_swift/src/lib.rs"),
        r#"pub fn solve() {
    eprintln!("swim: `cuMemHostRegister_v2` at src/lib.rs:2 is not supported by the simulated device");
    panic!("refused");
}
"#,
    );
    let text = tree.run(&["run", "swift", "--device", "sim"]);
    let failed = text.find("\nfailed: ").unwrap_or_else(|| panic!("{text}"));
    insta::assert_snapshot!(text[failed..].split("----- stderr").next().unwrap_or_default(), @"

    failed: gate `output`: `cuMemHostRegister_v2` at src/lib.rs:2 is not supported by the simulated device, and the program ended before the measured region came to its end

    next: at `exercises/01_swift/src/lib.rs:2`, do without `cuMemHostRegister`, which a GPU has and the simulated device has not: copy from and to memory that is allocated as pinned: a pinned `HostBlock` of the lab, or `alloc_pinned`
          then `cargo run -- run swift`
    ");
}

#[test]
fn after_a_pass_the_next_exercise_is_named_and_after_the_last_nothing() {
    let root = scratch().join("learner/onward");
    _ = std::fs::remove_dir_all(&root);
    let tree = Tree::pair(root, scratch().join("pair-target"));
    let run = |exercise| tree.run(&["run", exercise, "--device", "sim"]);
    insta::assert_snapshot!(next(&run("swift")), @"
    next: go on
          then go on with `sluggish`: edit `exercises/02_sluggish/src/lib.rs`
    ");
    let swift = "pub fn solve() { lab::hand_over(\"swift\") }";
    write(&tree.root().join("exercises/02_sluggish/src/lib.rs"), swift);
    insta::assert_snapshot!(next(&run("sluggish")), @"
    next: go on
          you have passed all exercises
    ");
}

#[test]
fn a_call_that_fails_is_named_with_its_line_and_its_code_and_the_driver_says_why() {
    let real = real();
    let file = real.folder("two_streams").join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    let (before, after) = shipped.split_once("    let mut course").expect("a line");
    let line = before.lines().count() + 1;
    let untimed = "let at = stream.record_event(None)?; at.elapsed_ms(&at)?;";
    let foreign = "unsafe { cudarc::driver::result::stream::synchronize(8 as _)? };";
    let handled = format!("_ = context.bind_to_thread(); {foreign}");
    for (calls, failed, why) in [
        (untimed, "cuEventElapsedTime", "was made without timing\n"),
        (foreign, "cuStreamSynchronize", ""),
        (handled.as_str(), "cuStreamSynchronize", ""),
    ] {
        write(&file, &format!("{before}    {calls}\n    let mut course{after}"));
        let text = real.report(&["run", "two_streams", "--device", "sim"]);
        let says = format!(
            "\nfailed: gate `output`: `{failed}` at src/lib.rs:{line} failed with CUDA_ERROR_INVALID_HANDLE, \
             and the program ended before the measured region came to its end\n"
        );
        assert!(text.contains(&says) && text.contains(why), "{text}");
    }
    write(&file, &shipped);
}

#[test]
fn a_real_file_that_waits_for_too_little_is_told_after_which_line_to_wait() {
    let real = real();
    let file = real.folder("two_streams").join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    write(&file, include_str!("unwaited/waits_for_the_copies_alone.rs"));
    let text = real.report(&["run", "two_streams", "--device", "sim"]);
    write(&file, &shipped);
    insta::assert_snapshot!(next(&text), @"
    next: after `exercises/02_two_streams/src/lib.rs:26`, and before the region ends, wait for stream 2, or for the whole context
          then `cargo run -- run two_streams`
    ");
}
