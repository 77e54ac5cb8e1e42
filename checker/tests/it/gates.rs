//! Each way in which a run can go wrong, and what it comes to.

use serde_json::json;

use crate::tree::tree;

/// Verdict, gate, score and exit code of an exercise, and what it says.
#[track_caller]
fn outcome(exercise: &str, more: &[&str]) -> (i32, serde_json::Value, String) {
    let arguments = [&["run", exercise, "--device", "sim"], more].concat();
    let (code, object) = tree().json(&arguments);
    let message = object["message"].as_str().expect("a message").to_owned();
    (code, json!([object["verdict"], object["gate"], object["score"]]), message)
}

#[test]
fn a_run_near_the_reference_passes() {
    let (code, verdict, message) = outcome("swift", &[]);
    assert_eq!((code, verdict), (0, json!(["passed", null, 100.0])));
    assert_eq!(message, "score 100.0, and 80 is enough");
}

#[test]
fn a_run_as_slow_as_the_baseline_scores_nothing_and_fails_no_gate() {
    let (code, verdict, message) = outcome("sluggish", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", null, 0.0])));
    assert_eq!(message, "score 0.0, and 80 is needed");
}

#[test]
fn a_file_that_does_not_compile_fails_in_the_compilers_own_words() {
    let (code, verdict, message) = outcome("broken", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "builds", 0.0])));
    assert!(
        message.starts_with("error[E0308]: mismatched types (exercises/03_broken/src/lib.rs:1:44)"),
        "{message}"
    );
    assert!(message.contains("expected `u32`, found `&str`"), "{message}");

    let text = tree().run(&["run", "broken", "--device", "sim"]);
    assert!(text.contains("expected `u32`, found `&str`"), "{text}");
    assert!(text.contains("failed: gate `builds`: error[E0308]: mismatched types"), "{text}");
}

#[test]
fn several_errors_are_counted_and_all_shown() {
    let (_, _, message) = outcome("three_mistakes", &[]);
    let first = message.lines().next().expect("a line");
    assert_eq!(
        first,
        "error[E0425]: cannot find function `one` in this scope \
         (exercises/22_three_mistakes/src/lib.rs:1:18), and 2 more errors"
    );
    assert!(message.contains("function `three`"), "{message}");
}

#[test]
fn a_panic_is_named_with_its_place_and_its_words() {
    let (code, verdict, message) = outcome("panics", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "output", 0.0])));
    assert_eq!(
        message,
        "the program panicked at exercises/04_panics/src/lib.rs:1:18: there is no third stream"
    );
}

#[test]
fn an_exit_in_the_middle_is_not_taken_for_success() {
    let (code, verdict, message) = outcome("quits", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "output", 0.0])));
    assert_eq!(
        message,
        "the program exited with status 0 before the measured region came to its end"
    );
}

#[test]
fn a_status_after_the_region_fails_although_the_record_is_there() {
    let (code, verdict, message) = outcome("late", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "output", 0.0])));
    assert_eq!(message, "the program exited with status 3 after the measured region");
}

#[test]
fn a_crash_is_named_by_its_signal() {
    let (code, verdict, message) = outcome("aborts", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "output", 0.0])));
    assert_eq!(
        message,
        "the program was ended by signal 6 (SIGABRT) before the measured region came to its end"
    );
}

#[test]
fn an_endless_loop_is_stopped_at_the_limit() {
    let (code, verdict, message) = outcome("loops", &["--time-limit", "0.3"]);
    assert_eq!((code, verdict), (1, json!(["failed", "time", 0.0])));
    assert_eq!(
        message,
        "the program ran for more than 0.3 s and was stopped before the measured region came to its \
         end; on the simulated device time passes in calls alone, so a loop that only looks at memory \
         never ends"
    );
}

#[test]
fn a_wrong_output_says_which_element_and_how_many() {
    let (code, verdict, message) = outcome("wrong", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "output", 0.0])));
    assert_eq!(
        message,
        "the output is wrong in 1024 of 65536 elements; the first, element 77, is 57005 instead \
         of 12"
    );
}

#[test]
fn a_hazard_fails_although_the_output_is_right() {
    let (code, verdict, message) = outcome("racy", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "hazard", 0.0])));
    assert_eq!(
        message,
        "SWIM-H01: kernel 0 in stream 2 reads memory that the copy to the device in stream 1 writes, \
         and nothing orders the two (src/lib.rs:4 and src/lib.rs:5)"
    );
}

#[test]
fn a_warning_fails_nothing() {
    let (code, verdict, _) = outcome("leaning", &[]);
    assert_eq!((code, verdict), (0, json!(["passed", null, 100.0])));
}

#[test]
fn outputs_that_nobody_checked_are_not_right() {
    let (code, verdict, _) = outcome("unchecked", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "output", 0.0])));
}

#[test]
fn missing_work_is_listed_and_comes_before_a_busy_device() {
    let (code, verdict, message) = outcome("lazy", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "work", 0.0])));
    assert_eq!(
        message,
        "the task's work was not all done in the measured region; host to device bytes: 1024 of \
         4096, map_b: 20 of 10"
    );
}

#[test]
fn a_device_still_at_work_fails_the_idle_gate() {
    let (code, verdict, message) = outcome("hasty", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "idle", 0.0])));
    assert_eq!(message, "the device was still at work when the measured region ended");
}

#[test]
fn a_region_that_ends_twice_is_not_graded_by_either() {
    let (code, verdict, message) = outcome("twice", &[]);
    assert_eq!((code, verdict), (1, json!(["failed", "output", 0.0])));
    assert_eq!(message, "the measured region ended 2 times, not 1");
}

#[test]
fn trouble_of_the_lab_is_an_error_and_no_grade() {
    let (code, verdict, message) = outcome("stale", &[]);
    assert_eq!((code, verdict), (4, json!(["error", null, null])));
    assert_eq!(message, "the driver library is stale\n\nhint: `cargo build` makes it again");
}

#[test]
fn a_record_that_cannot_be_read_is_an_error_and_no_grade() {
    let (code, verdict, message) = outcome("garbled", &[]);
    assert_eq!((code, verdict), (4, json!(["error", null, null])));
    assert!(
        message.starts_with("cannot read the record of the run: EOF while parsing"),
        "{message}"
    );
}

#[test]
fn a_record_of_another_version_is_an_error_that_says_so() {
    let (code, verdict, message) = outcome("newer", &[]);
    assert_eq!((code, verdict), (4, json!(["error", null, null])));
    assert!(message.contains("version 2"), "{message}");
}

#[test]
fn what_the_exercise_is_built_on_is_not_the_students_fault() {
    let (code, verdict, message) = outcome("undermined", &[]);
    assert_eq!((code, verdict), (4, json!(["error", null, null])));
    assert!(
        message.starts_with("what the exercises are built on does not compile: error[E0308]"),
        "{message}"
    );
}

#[test]
fn an_exercise_without_its_recordings_is_an_error_that_says_how_to_make_them() {
    let (code, verdict, message) = outcome("unrecorded", &[]);
    assert_eq!((code, verdict), (4, json!(["error", null, null])));
    assert!(
        message.starts_with("cannot read `recorded/baseline.json` of `unrecorded`"),
        "{message}"
    );
    assert!(message.contains("hint: `checker dev record unrecorded`"), "{message}");
}
