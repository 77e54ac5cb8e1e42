//! The two files that cargo has its own say in: `Cargo.toml`, whose profiles may name only what is
//! there, and `Cargo.lock`, which cargo cuts down to what is there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::compile;
use crate::progress::replace;

/// The workspace's own manifest.
pub const MANIFEST: &str = "Cargo.toml";

/// A profile's name for all packages of others.
const ALL: &str = "\"*\"";

/// The versions of everything that is compiled.
pub const LOCK: &str = "Cargo.lock";

/// The packages of a lock: name and version.
pub fn locked(lock: &[u8]) -> BTreeSet<(String, String)> {
    let lock = String::from_utf8_lossy(lock);
    let mut packages = BTreeSet::new();
    let mut name = None;
    for line in lock.lines() {
        let value = |key: &str| line.strip_prefix(key)?.strip_suffix('"').map(str::to_owned);
        if let Some(value) = value("name = \"") {
            name = Some(value);
        } else if let (Some(version), Some(name)) = (value("version = \""), name.take()) {
            packages.insert((name, version));
        }
    }
    packages
}

/// A manifest whose profiles name no package but those of a lock, beside all of them.
pub fn with_profiles_of(manifest: &[u8], lock: &[u8]) -> Vec<u8> {
    let packages: BTreeSet<String> = locked(lock).into_iter().map(|(name, _)| name).collect();
    let text = String::from_utf8_lossy(manifest);
    let mut kept = String::new();
    let mut remarks = String::new();
    let mut in_profiles = false;
    for line in text.lines() {
        if line.starts_with('[') {
            in_profiles = line.starts_with("[profile.") && line.ends_with(".package]");
        }
        if in_profiles && line.starts_with('#') {
            remarks.push_str(&format!("{line}\n"));
            continue;
        }
        let package = line.split_once(" = {").map(|(name, _)| name);
        let is_there = |name: &str| name == ALL || packages.contains(name);
        if !in_profiles || package.is_none_or(is_there) {
            kept.push_str(&format!("{remarks}{line}\n"));
        }
        remarks.clear();
    }
    (kept + &remarks).into_bytes()
}

/// Leaves out of `Cargo.lock` what nothing here needs. Where there is no cargo, or packages that it
/// wants to look at have not been fetched, it does so itself when it builds for the first time.
pub fn prune_lock(root: &Path) {
    // Without a platform, cargo wants the packages of all of them, which no build here fetches.
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(platform) = Command::new(rustc).args(["--print", "host-tuple"]).output() else { return };
    let platform = String::from_utf8_lossy(&platform.stdout);
    let mut cargo = compile::cargo_command();
    cargo.args(["metadata", "--offline", "--format-version=1"]).current_dir(root);
    cargo.args(["--filter-platform", platform.trim_end()]);
    _ = cargo.output(); // cargo says again what is wrong when it builds
}

/// Leaves out of the profiles what is not there, of which cargo would complain each time.
pub fn prune_profiles(root: &Path) -> Result<()> {
    let path = root.join(MANIFEST);
    let manifest = std::fs::read(&path).with_context(|| format!("cannot read `{MANIFEST}`"))?;
    // Without a lock it is not known yet what is there.
    let Ok(lock) = std::fs::read(root.join(LOCK)) else { return Ok(()) };
    let pruned = with_profiles_of(&manifest, &lock);
    if pruned == manifest {
        return Ok(());
    }
    replace(&path, pruned).with_context(|| format!("cannot write `{MANIFEST}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock of packages, each with its version.
    pub(crate) fn lock(packages: &[(&str, &str)]) -> Vec<u8> {
        let package = |(name, version): &(&str, &str)| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n")
        };
        format!("version = 4\n\n{}", packages.iter().map(package).collect::<String>()).into_bytes()
    }

    #[test]
    fn a_profile_names_no_package_that_is_not_there() {
        let text = "[profile.dev.package]\n\"*\" = { debug = false }\na = { opt-level = 2 }\n# of b\nb = { opt-level = 3 }\nc = { opt-level = 1 }\n";
        let kept = with_profiles_of(text.as_bytes(), &lock(&[("a", "1.0.0"), ("c", "2.1.0")]));
        assert_eq!(
            String::from_utf8_lossy(&kept),
            "[profile.dev.package]\n\"*\" = { debug = false }\na = { opt-level = 2 }\nc = { opt-level = 1 }\n"
        );
    }

    #[test]
    fn a_lock_names_its_packages_with_their_versions() {
        let found = locked(&lock(&[("a", "1.0.0"), ("b", "2.1.0"), ("b", "3.0.0")]));
        let names = found.iter().map(|(name, version)| format!("{name} {version}"));
        assert_eq!(names.collect::<Vec<_>>(), ["a 1.0.0", "b 2.1.0", "b 3.0.0"]);
    }
}
