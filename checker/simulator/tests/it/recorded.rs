//! The programs that are kept in the repository, simulated again.

use std::path::{Path, PathBuf};

use simulator::{Schedule, replay};
use trace::{Program, Record};

use crate::program::h200;

/// Every record and program under a folder.
fn programs(folder: &Path, found: &mut Vec<(PathBuf, Program)>) {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it is read").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).expect("it is text");
            let program = serde_json::from_str::<Record>(&text).map(|record| record.program);
            if let Ok(program) = program.or_else(|_| serde_json::from_str(&text)) {
                found.push((path, program));
            }
        }
    }
}

#[test]
fn every_program_that_is_kept_gives_the_same_bytes_twice() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["exercises", "book/figures"] {
        programs(&root.join(folder), &mut found);
    }
    // Baseline and reference of two exercises, and the figures of the first puzzle.
    assert!(found.len() >= 11, "{}", found.len());
    for (path, program) in found {
        for schedule in [Schedule::Exact, Schedule::Perturbed(1)] {
            let json = || {
                let timeline = replay(&program, &h200(), schedule);
                serde_json::to_string(&timeline).expect("a timeline is JSON")
            };
            assert_eq!(json(), json(), "{}", path.display());
        }
    }
}
