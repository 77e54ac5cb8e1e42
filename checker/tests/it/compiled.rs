//! What is compiled already, for copies of the workspace: cargo tells packages apart by their place in it, and builds
//! again what has changed since. So only the exercises of a copy are compiled, and what a test changes there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::real::exercises;

/// Where `cargo test` puts what it compiles.
pub(crate) fn ours() -> PathBuf {
    let program = std::env::current_exe().expect("the path of this program");
    program.ancestors().nth(2).expect("target/debug/deps/it").to_owned()
}

/// Puts the libraries that lie in the folder `from` of one target folder into the new target folder `target`.
pub(crate) fn take(from: &Path, target: &Path) {
    let to = target.join(from.file_name().expect("`debug`"));
    for entry in entries(&from.join(".fingerprint")) {
        if !is_of_an_exercise(&name(&entry)) {
            put(&entry, &to.join(".fingerprint").join(name(&entry)));
        }
    }
    put(&from.join("build"), &to.join("build"));
    for entry in entries(&from.join("deps")).into_iter().filter(|entry| is_library(entry)) {
        put(&entry, &to.join("deps").join(name(&entry)));
    }
}

/// The lines of an exercise's calls are found by where it was compiled.
fn is_of_an_exercise(package_and_hash: &str) -> bool {
    let package = package_and_hash.rsplit_once('-').map_or(package_and_hash, |(it, _)| it);
    exercises().any(|id| id == package.strip_suffix("-solution").unwrap_or(package))
}

/// The compiler never writes into one of these, but puts a new one in its place: it may have two names.
fn is_library(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "rlib" || it == "rmeta" || it == "so")
}

fn put(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).expect("a folder");
        for entry in entries(from) {
            put(&entry, &to.join(name(&entry)));
        }
        return;
    }
    std::fs::create_dir_all(to.parent().expect("a file has a folder")).expect("a folder");
    if !(is_library(from) && std::fs::hard_link(from, to).is_ok()) {
        std::fs::copy(from, to).expect("a file");
        set_age(to, age(from));
    }
}

/// Gives the files below `folder` the age of those of the same name and text below `like`, by which cargo knows what
/// was compiled of them. Folders too, which build scripts ask for.
pub(crate) fn as_old_as(like: &Path, folder: &Path) {
    for entry in entries(folder) {
        let like = like.join(name(&entry));
        if entry.is_dir() {
            as_old_as(&like, &entry);
            if like.is_dir() {
                set_age(&entry, age(&like));
            }
        } else if std::fs::read(&like).is_ok_and(|it| it == std::fs::read(&entry).expect("a file"))
        {
            set_age(&entry, age(&like));
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn age(file: &Path) -> SystemTime {
    let changed = file.metadata().and_then(|it| it.modified());
    changed.unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn set_age(file: &Path, age: SystemTime) {
    let opened = std::fs::File::open(file).and_then(|file| file.set_modified(age));
    opened.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// The packages that some packages are compiled with, each with its features.
fn features(packages: &[&str], edges: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--prefix", "none", "--no-dedupe", "--format", "{p} {f}"]);
    cargo.args(["--edges", edges]).args(packages);
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn what_an_exercise_is_compiled_with_is_compiled_for_the_tests_already() {
    let of_tests = features(&["--workspace"], "normal,build,dev");
    for exercise in exercises() {
        let solution = format!("{exercise}-solution");
        let packages = ["--package", exercise, "--package", &solution];
        let others: Vec<_> = features(&packages, "normal,build")
            .into_iter()
            .filter(|it| !of_tests.contains(it))
            .collect();
        assert!(
            others.is_empty(),
            "`cargo test --workspace` asks for other features of {others:?}; add them in `Cargo.toml` to what nothing \
             uses, so that a library is compiled once"
        );
    }
}
