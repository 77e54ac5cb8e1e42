//! Handouts for students: the exercises without their solutions, the checker, the book as it was
//! built, settings for their editors. And which of it is still as it was handed out.
//!
//! A handout is taken from the authors' workspace, or from one that was handed out before. In the
//! latter `.handed_out` names each file with a print of its contents:
//!
//! ```text
//! handed out 1
//! 9d41c7e2a8f05b13 exercises/04_three_lanes/src/lib.rs
//! ```
//!
//! An update replaces a file only while it is what was handed out. Everything else is the
//! student's.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`update`] | what a newer handout brings |
//! | [`packages`] | `Cargo.toml` and `Cargo.lock`, in which cargo has its own say |

pub mod packages;
pub mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::exercise::{Location, without_sections};
use crate::exit::Usage;
use crate::progress::{Fingerprint, replace};

/// The list of what was handed out, in the workspace's folder.
pub const RECORD: &str = ".handed_out";

/// `Cargo.lock` as it was handed out, beside the list: cargo cuts down the one that it uses.
pub const TAKEN_LOCK: &str = ".handed_out.lock";

/// The first line of the list that is no remark.
const HEADER: &str = "handed out 1";

const TITLE: &str = "# What was handed out, each file with a print of its contents. `checker update` replaces a file only while
# it is still that. The rest is yours.
";

/// Files, by their path in the workspace.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The prints of files, by their path in the workspace.
pub type Prints = BTreeMap<PathBuf, Fingerprint>;

/// The files that are handed out of the workspace in `root`; `site` is the folder of a book that
/// was built elsewhere.
pub fn files(root: &Path, site: Option<&Path>) -> Result<Files> {
    let record = record(root)?;
    let built = root.join(SITE);
    let site = match &record {
        None if built.join("index.html").is_file() => site.or(Some(&built)),
        _ => site,
    };
    let mut files = match &record {
        Some(prints) => handed_out(root, prints)?,
        None => authors(root)?,
    };
    if let Some(site) = site {
        if !site.join("index.html").is_file() {
            let message = format!("`{}` is no built book: it has no `index.html`", site.display());
            return Err(Usage(message).into());
        }
        files.retain(|path, _| !path.starts_with(BOOK) || path.starts_with(PROGRAMS));
        let mut pages = Files::new();
        collect(site, Path::new(""), &mut pages)?;
        files.extend(pages.into_iter().map(|(path, bytes)| (Path::new(BOOK).join(path), bytes)));
    }
    Ok(files)
}

/// Where the book's pages are.
pub const BOOK: &str = "book";

/// The programs in PyTorch, with traces to be read by `checker trace`.
const PROGRAMS: &str = "book/pytorch";

/// Where `cargo run -p book -- build` puts them, in the authors' workspace.
pub const SITE: &str = "target/book";

/// Whether the workspace has the book, which its README says how to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Book {
    /// It has.
    There,
    /// It has not.
    Absent,
}

/// Puts in what a student reads first.
pub fn add_readme(files: &mut Files, book: Book) {
    // That of the workspace that is handed out: this checker may be an older one.
    let text = match files.get(Path::new("checker/src/commands/student/README.md")) {
        Some(text) => String::from_utf8_lossy(text).into_owned(),
        None => include_str!("commands/student/README.md").to_owned(),
    };
    let read = match book {
        Book::There => "\nThe book: open `book/index.html` in a browser.\n",
        Book::Absent => "",
    };
    files.insert(PathBuf::from("README.md"), text.replace("{BOOK}", read).into_bytes());
}

/// Makes a workspace of `files` in `root`.
pub fn lay_out(root: &Path, files: &Files) -> Result<()> {
    for (path, bytes) in files {
        write(root, path, bytes)?;
    }
    if let Some(lock) = files.get(Path::new(packages::LOCK)) {
        write(root, Path::new(TAKEN_LOCK), lock)?;
    }
    packages::prune_lock(root);
    packages::prune_profiles(root)?;
    let print = |path: &PathBuf| -> Result<_> {
        let bytes = std::fs::read(root.join(path));
        let bytes = bytes.with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok((path.clone(), Fingerprint::of_bytes(&bytes)))
    };
    write_record(root, &files.keys().map(print).collect::<Result<_>>()?)
}

/// Writes a file as a whole or not at all.
fn write(root: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let target = root.join(path);
    std::fs::create_dir_all(target.parent().unwrap_or(root))
        .and_then(|()| replace(&target, bytes))
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// The record of what was handed out in `root`, as far as that is known; none where it was not
/// handed out.
pub fn record(root: &Path) -> Result<Option<Prints>> {
    let text = match std::fs::read_to_string(root.join(RECORD)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{RECORD}`")),
    };
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    if lines.next() != Some(HEADER) {
        bail!("`{RECORD}` does not begin as this checker knows it");
    }
    let entry = |line: &str| {
        let (print, path) = line.split_once(' ')?;
        Some((PathBuf::from(path), print.parse().ok()?))
    };
    let prints: Option<Prints> = lines.map(entry).collect();
    prints.map(Some).with_context(|| format!("cannot read `{RECORD}`"))
}

/// Writes the list.
pub fn write_record(root: &Path, prints: &Prints) -> Result<()> {
    let mut text = format!("{TITLE}{HEADER}\n");
    for (path, print) in prints {
        text.push_str(&format!("{print} {}\n", path.display()));
    }
    replace(&root.join(RECORD), &text).with_context(|| format!("cannot write `{RECORD}`"))
}

/// The files that were handed out before, the student's files as they were shipped.
fn handed_out(root: &Path, prints: &Prints) -> Result<Files> {
    let mut files = Files::new();
    for path in prints.keys() {
        let shipped = shipped(path).filter(|shipped| root.join(shipped).is_file());
        let from = root.join(shipped.as_ref().unwrap_or(path));
        match std::fs::read(&from) {
            Ok(bytes) => _ = files.insert(path.clone(), bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", from.display()));
            }
        }
    }
    Ok(files)
}

/// Where the pristine copy of a student's file lies.
fn shipped(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?.parent()?;
    let is_students = path.ends_with("src/lib.rs") && Location::of(folder.to_owned()).is_some();
    is_students.then(|| folder.join(".shipped/lib.rs"))
}

/// The files that an authors' workspace hands out.
fn authors(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    for folder in [".cargo", "checker", "exercises"] {
        collect(&root.join(folder), Path::new(folder), &mut files)?;
    }
    for file in ["Cargo.toml", "Cargo.lock", "rustfmt.toml", "LICENSE-APACHE", "LICENSE-MIT"] {
        if let Ok(bytes) = std::fs::read(root.join(file)) {
            files.insert(PathBuf::from(file), bytes);
        }
    }
    // The pages name these, wherever they are read.
    if root.join(PROGRAMS).is_dir() {
        collect(&root.join(PROGRAMS), Path::new(PROGRAMS), &mut files)?;
    }
    files.retain(|path, _| !is_for_authors(path));
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    for path in &paths {
        if let Some(bytes) = shipped(path).and_then(|shipped| files.get(&shipped)).cloned() {
            files.insert(path.clone(), bytes);
        }
        if path.file_name() == Some(OsStr::new("Cargo.toml")) {
            edit(&mut files, path, |text| match path.parent() {
                Some(folder) if folder == Path::new("") => workspace_manifest(text, &paths),
                _ => Ok(without_sections(text, &["[[test]]", "[[bench]]"])),
            })?;
        }
    }
    for (path, text) in OWN {
        files.insert(PathBuf::from(path), text.as_bytes().to_vec());
    }
    Ok(files)
}

/// Files that a student's workspace has and the authors' has not.
const OWN: &[(&str, &str)] = &[
    (".gitignore", "/target/\n/progress*.txt\n.kept/\n"),
    // A target folder of its own, so that neither waits for the other; and no check of files that
    // are not open.
    ("rust-analyzer.toml", "cargo.targetDir = true\ncheck.workspace = false\n"),
    (
        ".vscode/settings.json",
        "{\n    \"rust-analyzer.cargo.targetDir\": true,\n    \"rust-analyzer.check.workspace\": false,\n    \
         \"files.watcherExclude\": { \"**/target/**\": true }\n}\n",
    ),
    (".vscode/extensions.json", "{\n    \"recommendations\": [\"rust-lang.rust-analyzer\"]\n}\n"),
];

/// Whether a file helps to make the exercises, and not to do them.
fn is_for_authors(path: &Path) -> bool {
    let names: Vec<_> = path.components().map(Component::as_os_str).collect();
    let is = |name: &str| names.iter().any(|it| *it == name);
    let of_checker = names.first().is_some_and(|first| *first == "checker");
    // Inside of `src`, tests are modules that belong to the rest.
    let in_source = names.iter().position(|it| *it == "src").unwrap_or(names.len());
    let beside = |name: &str| names[..in_source].iter().any(|it| *it == name);
    beside("tests")
        || beside("benches")
        || (of_checker && (beside("examples") || path.starts_with("checker/playground")))
        || is("target")
        || is(".kept")
}

/// The manifest of the workspace, with the packages that are handed out. New exercises become
/// members by being there.
fn workspace_manifest(text: &str, paths: &[PathBuf]) -> Result<String> {
    let manifests = paths.iter().filter(|path| path.ends_with("Cargo.toml"));
    let folders: BTreeSet<&Path> = manifests.filter_map(|path| path.parent()).collect();
    let start = text.find("members = [\n").context("the workspace names no members")?;
    let inside = start + "members = [\n".len();
    let end = inside + text[inside..].find("\n]").context("the list of members does not end")? + 1;
    let is_handed_out = |line: &&str| {
        let member = line.trim().trim_matches(['"', ',']);
        folders.contains(Path::new(member)) || member.starts_with("exercises/")
    };
    let members: Vec<&str> = text[inside..end].lines().filter(is_handed_out).collect();
    let text = format!("{}{}\n{}", &text[..inside], members.join("\n"), &text[end..]);
    // A package that is not handed out can be no dependency.
    let kept = text.lines().filter(|line| {
        let path = line.split_once("{ path = \"").and_then(|(_, rest)| rest.split('"').next());
        path.is_none_or(|path| folders.contains(Path::new(path)))
    });
    Ok(kept.map(|line| format!("{line}\n")).collect())
}

fn edit(files: &mut Files, path: &Path, change: impl Fn(&str) -> Result<String>) -> Result<()> {
    let Some(bytes) = files.get_mut(path) else { return Ok(()) };
    let text = std::str::from_utf8(bytes).with_context(|| format!("`{}`", path.display()))?;
    let changed = change(text).with_context(|| format!("cannot edit `{}`", path.display()))?;
    *bytes = changed.into_bytes();
    Ok(())
}

/// The files in a folder, called `name` in the workspace.
fn collect(folder: &Path, name: &Path, files: &mut Files) -> Result<()> {
    let context = || format!("cannot read `{}`", folder.display());
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else if path.is_file() {
            files.insert(name, std::fs::read(&path).with_context(context)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_exercises_is_not_handed_out_and_what_runs_them_is() {
        for path in [
            "checker/tests/it/main.rs",
            "checker/trace/examples/fuzz.rs",
            "checker/playground/src/lib.rs",
            "exercises/lab/tests/driver/main.rs",
            "exercises/04_three_lanes/.kept/1.rs",
        ] {
            assert!(is_for_authors(Path::new(path)), "{path}");
        }
        for path in [
            "checker/driver/src/gpu/tests/mod.rs",
            "exercises/04_three_lanes/examples/three_lanes_blocking.rs",
            "exercises/lab/src/bin/calibrate/main.rs",
        ] {
            assert!(!is_for_authors(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn every_file_that_a_source_names_is_handed_out() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let files = files(&root, None).expect("the files of this workspace");
        let (mut named, mut missing) = (0, Vec::new());
        for (path, bytes) in
            files.iter().filter(|(path, _)| path.extension() == Some("rs".as_ref()))
        {
            let text = String::from_utf8_lossy(bytes);
            for opening in ["#[path = \"", "include!(\"", "include_str!(\"", "include_bytes!(\""] {
                for rest in text.split(opening).skip(1) {
                    let name = rest.split('"').next().unwrap_or_default();
                    let folder = path.parent().unwrap_or(path).to_owned();
                    let target = Path::new(name).iter().fold(folder, |at, part| match part {
                        up if up == ".." => at.parent().unwrap_or(&at).to_owned(),
                        part => at.join(part),
                    });
                    named += 1;
                    if !files.contains_key(&target) {
                        missing.push(format!("{}: {name}", path.display()));
                    }
                }
            }
        }
        assert_eq!(missing, [""; 0]);
        assert!(named > 30, "there are many: {named}");
    }

    #[test]
    fn the_file_of_an_exercise_is_handed_out_as_it_was_shipped() {
        let of = |path: &str| shipped(Path::new(path));
        let pristine = Some(PathBuf::from("exercises/04_swift/.shipped/lib.rs"));
        assert_eq!(of("exercises/04_swift/src/lib.rs"), pristine);
        assert_eq!(of("exercises/lab/src/lib.rs"), None);
        assert_eq!(of("exercises/04_swift/src/main.rs"), None);
    }
}
