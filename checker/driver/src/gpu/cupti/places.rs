//! Where CUPTI may be: it comes with the toolkit and with Python packages, not with the driver.

use std::env;
use std::path::{Path, PathBuf};

/// Path of the CUPTI library, where it is in none of the usual places.
const CUPTI: &str = "SWIM_CUPTI";

/// Below this version of the driver, CUPTI 13 refuses to work.
const CUDA_13: u32 = 13_000;

/// Libraries to try, best first: a path, or a name that the loader looks up.
pub(super) fn candidates(driver: u32) -> Vec<PathBuf> {
    if let Some(path) = env::var_os(CUPTI) {
        // A path that is named is the only one.
        return vec![path.into()];
    }
    let names = names(driver);
    let mut found: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    for folder in folders() {
        found.extend(names.iter().map(|name| folder.join(name)).filter(|path| path.exists()));
    }
    found
}

/// The library of the driver's own major version first, then the one without a version, and a newer
/// one never.
fn names(driver: u32) -> &'static [&'static str] {
    if driver >= CUDA_13 {
        &["libcupti.so.13", "libcupti.so", "libcupti.so.12"]
    } else {
        &["libcupti.so.12", "libcupti.so"]
    }
}

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let variables = ["CUDA_HOME", "CUDA_PATH"];
    let mut toolkits: Vec<PathBuf> =
        variables.iter().filter_map(env::var_os).map(PathBuf::from).collect();
    toolkits.extend(children(Path::new("/usr/local"), "cuda"));
    for toolkit in toolkits {
        folders.extend(
            ["targets/x86_64-linux/lib", "extras/CUPTI/lib64", "lib64"].map(|it| toolkit.join(it)),
        );
    }

    let mut pythons: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(env::var_os).map(PathBuf::from).collect();
    pythons.push(".venv".into());
    for folder in children(Path::new("/opt"), "") {
        pythons.push(folder.join(".venv"));
        pythons.push(folder);
    }
    pythons.extend(["/usr/local", "/usr"].map(PathBuf::from));
    pythons.extend(env::home_dir().map(|home| home.join(".local")));
    for python in pythons {
        for version in children(&python.join("lib"), "python3") {
            for packages in ["site-packages", "dist-packages"] {
                let nvidia = version.join(packages).join("nvidia");
                folders.extend(["cu13/lib", "cuda_cupti/lib"].map(|it| nvidia.join(it)));
            }
        }
    }
    folders
}

/// The entries of a folder that begin with `prefix`, in order; none of a folder that is not there.
fn children(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let begins =
        |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
    let mut found: Vec<_> = entries.flatten().filter(begins).map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_driver_gets_no_cupti_that_refuses_it() {
        assert_eq!(names(13_000)[0], "libcupti.so.13");
        assert!(names(12_080).iter().all(|name| !name.ends_with("13")));
    }

    #[test]
    fn folders_that_are_not_there_hold_nothing() {
        assert!(children(Path::new("/nowhere/at/all"), "").is_empty());
    }
}
