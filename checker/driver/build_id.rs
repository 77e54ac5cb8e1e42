//! The build id of the driver library: two libraries are the same build if their sources are.
//!
//! The build scripts of the library and of those who load it both take it from here; a stale copy
//! would answer in yesterday's terms, so they refuse any other.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Everything that the library is made of, relative to its package.
const SOURCES: [&str; 7] = [
    "src",
    "../trace/src",
    "../simulator/src",
    "../simulator/profiles",
    "../../exercises/lab/kernels/src",
    "../../exercises/lab/kernels/ptx",
    "build_id.rs",
];

/// The id, from the folder of the library's package. Asks cargo to come back when a source changes.
pub(crate) fn build_id(package: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        let root = package.join(source);
        println!("cargo::rerun-if-changed={}", root.display());
        let mut files = Vec::new();
        collect(&root, &mut files);
        files.sort();
        for file in files {
            file.strip_prefix(package).unwrap_or(&file).hash(&mut hasher);
            std::fs::read(&file).unwrap_or_default().hash(&mut hasher);
        }
    }
    format!("{:016x}", hasher.finish())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), files)),
        Err(_) => files.push(path.to_owned()),
    }
}
