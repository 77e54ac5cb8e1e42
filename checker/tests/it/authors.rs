//! The commands for authors.

use crate::tree::{program, tree};

#[test]
fn recording_keeps_the_programs_of_baseline_and_solution_a_line_for_each_step() {
    // In the tree itself: what is recorded is what lies there already, as far as it matters.
    let text = tree().run(&["dev", "record", "noisy"]);
    assert_eq!(text.lines().next(), Some("exit code: 0"), "{text}");
    let path = tree().root().join("exercises/20_noisy/recorded/baseline.json");
    let text = std::fs::read_to_string(path).expect("it was written");
    assert_eq!(
        serde_json::from_str::<trace::Program>(&text).expect("a program"),
        program(3_000_000)
    );
    assert!(text.lines().count() >= 3, "{text}");
}

#[test]
fn recording_a_solution_that_fails_a_gate_says_which() {
    let text = tree().run(&["dev", "record", "panics"]);
    assert!(text.starts_with("exit code: 4\n"), "{text}");
}
