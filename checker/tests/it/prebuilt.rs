//! Programs that were built elsewhere.

use std::path::PathBuf;
use std::process::Command;

use crate::tree::{json, scratch, tree};

/// A bundle of the exercises that compile.
fn bundle() -> PathBuf {
    let tree = tree();
    let folder = scratch().join("bundle");
    _ = std::fs::remove_dir_all(&folder);
    let target = scratch().join("mini-target/debug");
    for (path, from) in [
        ("dev/swift", target.join("swift")),
        ("dev/swift-solution", target.join("swift-solution")),
        ("dev/swift_drawn", target.join("examples/swift_drawn")),
        ("exercises/01_swift/exercise.toml", tree.root().join("exercises/01_swift/exercise.toml")),
        (
            "exercises/01_swift/recorded/baseline.json",
            tree.root().join("exercises/01_swift/recorded/baseline.json"),
        ),
        (
            "exercises/01_swift/recorded/reference.json",
            tree.root().join("exercises/01_swift/recorded/reference.json"),
        ),
    ] {
        let to = folder.join(path);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
    crate::tree::write(&folder.join("driver/libswim_driver.so"), "");
    folder
}

/// The checker outside of any workspace, without cargo.
fn elsewhere(arguments: &[&str]) -> Command {
    let mut command = tree().checker(arguments);
    command.current_dir("/").env("PATH", "/nowhere").env("CARGO", "/nowhere/cargo");
    command
}

#[test]
fn a_machine_without_rust_runs_and_grades_what_was_built_elsewhere() {
    let folder = bundle();
    let folder = folder.to_str().expect("UTF-8");
    let run = |more: &[&str]| {
        let arguments =
            [&["run", "swift", "--device", "sim", "--json", "--prebuilt", folder], more];
        json(&mut elsewhere(&arguments.concat()))
    };
    let (code, object) = run(&[]);
    assert_eq!((code, object["score"].as_f64()), (0, Some(100.0)), "{object:#}");
    let (code, object) = run(&["--solution"]);
    assert_eq!((code, object["program"].as_str()), (0, Some("solution")), "{object:#}");
    let (code, object) = run(&["--program", "drawn"]);
    assert_eq!((code, object["program"].as_str()), (0, Some("drawn")), "{object:#}");
}

#[test]
fn a_program_that_was_not_built_is_an_error_that_names_it() {
    let folder = scratch().join("bundle-empty");
    let manifest = std::fs::read_to_string(tree().root().join("exercises/01_swift/exercise.toml"));
    crate::tree::write(
        &folder.join("exercises/01_swift/exercise.toml"),
        &manifest.expect("a manifest"),
    );
    crate::tree::write(&folder.join("driver/libswim_driver.so"), "");
    let arguments = ["run", "swift", "--device", "sim", "--prebuilt"];
    let output = elsewhere(&arguments).arg(&folder).output().expect("it starts");
    let text = crate::tree::shown(&output, &folder);
    assert_eq!(
        text,
        "exit code: 4\n----- stderr -----\nerror: there is no `[ROOT]/dev/swift`\n\n\
         hint: make the folder again with `checker dev bundle`\n"
    );
}

#[test]
fn a_folder_that_is_no_bundle_is_a_mistake_of_usage() {
    let output = elsewhere(&["run", "swift", "--prebuilt", "/dev"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn without_cargo_the_checker_says_where_rust_comes_from() {
    let mut command = elsewhere(&["run", "swift", "--device", "sim"]);
    let text = tree().snapshot(command.env("SWIM_WORKSPACE", tree().root()));
    assert!(text.starts_with("exit code: 4\n"), "{text}");
    assert!(text.contains("error: cannot start `cargo`"), "{text}");
    assert!(text.contains("hint: install Rust"), "{text}");
}
