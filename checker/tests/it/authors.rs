//! The commands for authors.

use crate::tree::{json, program, scratch, shown, sound_tree, tree};

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

#[test]
fn a_bundle_holds_all_that_a_machine_without_rust_needs() {
    let tree = sound_tree();
    let folder = scratch().join("bundled");
    _ = std::fs::remove_dir_all(&folder);
    let mut command = tree.checker(&["dev", "bundle"]);
    let output = command.arg(&folder).output().expect("it starts");
    let text = shown(&output, &folder);
    assert!(text.starts_with("exit code: 0\n----- stdout -----\n[ROOT]: 8 programs"), "{text}");
    for file in [
        "checker",
        "dev/swift",
        "release/swift",
        "release/swift_baseline",
        "release/swift-solution",
        "dev/swift_drawn",
        "release/replay",
        "release/overhead",
        "release/calibrate",
        "dev/tracking_hole",
        "exercises/01_swift/exercise.toml",
        "exercises/01_swift/recorded/reference.json",
    ] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    // The miniature programs load no driver library, but a bundle has one.
    crate::tree::write(&folder.join("driver/libswim_driver.so"), "");
    let mut bundled = std::process::Command::new(folder.join("checker"));
    bundled.args(["run", "swift", "--device", "sim", "--json", "--prebuilt"]).arg(&folder);
    let (code, object) = json(bundled.current_dir("/").env("PATH", "/nowhere"));
    assert_eq!((code, object["verdict"].as_str()), (0, Some("passed")), "{object:#}");
}
