//! Gives the library its SONAME and its build id.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Everything that the library is made of, relative to this package.
const SOURCES: [&str; 6] = [
    "src",
    "../trace/src",
    "../simulator/src",
    "../simulator/profiles",
    "../../exercises/lab/kernels/src",
    "../../exercises/lab/kernels/ptx",
];

fn main() {
    // glibc answers cudarc's `dlopen("libcuda.so")` with a library of that SONAME that is loaded
    // already. Never `libcuda.so.1`: that name belongs to the real driver, and CUPTI looks for it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");

    // Two libraries are the same build if their sources are: programs refuse any other, since a stale
    // copy would answer in yesterday's terms.
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        let mut files = Vec::new();
        collect(Path::new(source), &mut files);
        files.sort();
        for file in files {
            file.to_string_lossy().replace('\\', "/").hash(&mut hasher);
            std::fs::read(&file).unwrap_or_default().hash(&mut hasher);
        }
    }
    let id = format!("{:016x}", hasher.finish());
    println!("cargo::rustc-env=SWIM_BUILD_ID={id}");
    println!("cargo::metadata=build_id={id}");
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
