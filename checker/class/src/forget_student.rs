//! Taking a student's data out of the folder that a class's grades are in, and nothing else.
//!
//! Grading is by content: the outcome of a file is kept once, for all who handed it in. So what is
//! one student's is found from the rows, and what others have too stays. Tables that were written
//! from the rows are written anew by the caller; everything else goes here, and is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Something in the output folder that is about students.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    /// Where it is, below the output folder: a file, or a folder with all that is in it.
    pub(crate) path: PathBuf,
    /// Whom it is about.
    pub(crate) students: BTreeSet<String>,
}

/// Those of `holdings` that are about `student` and no other, in order. The same path may be
/// there more than once, of one student each.
pub(crate) fn only_of(holdings: &[Holding], student: &str) -> Vec<PathBuf> {
    let mut all: BTreeMap<&Path, BTreeSet<&str>> = BTreeMap::new();
    for holding in holdings {
        let students = all.entry(&holding.path).or_default();
        students.extend(holding.students.iter().map(String::as_str));
    }
    let others: BTreeSet<&Path> = all
        .iter()
        .filter(|(_, students)| students.iter().any(|other| *other != student))
        .map(|(path, _)| *path)
        .collect();
    let own = all.iter().filter(|(_, students)| students.contains(student)).map(|(path, _)| *path);
    // What another has may lie within a folder that is one's own, and the other way round.
    let own = own.filter(|path| {
        !others.iter().any(|other| other.starts_with(path) || path.starts_with(other))
    });
    own.map(Path::to_owned).collect()
}

/// Removes `paths` from the folder `out`, and returns what was removed, files and folders, in
/// order. What is not there is no error: it may have been removed before. Links are removed and not
/// followed.
pub(crate) fn remove(out: &Path, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    for path in paths {
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || path.as_os_str().is_empty() {
            bail!("`{}` is no path below the output folder", path.display());
        }
    }
    let root = fs::openat(CWD, out, FOLDER - OFlags::NOFOLLOW, Mode::empty())
        .with_context(|| format!("cannot open `{}`", out.display()))?;
    let mut removed = Vec::new();
    for path in paths {
        let cannot = || format!("cannot remove `{}`", out.join(path).display());
        let Some(above) = above(&root, path).with_context(cannot)? else { continue };
        let Some(name) = path.file_name() else { continue };
        take(&above, Path::new(name), path, &mut removed).with_context(cannot)?;
    }
    removed.sort();
    Ok(removed)
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder that holds `path`, reached through no link; none where it is not there.
fn above(root: &OwnedFd, path: &Path) -> Result<Option<OwnedFd>> {
    let mut folder = root.try_clone()?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder = match fs::openat(&folder, part.as_os_str(), FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(Some(folder))
}

fn take(folder: &OwnedFd, name: &Path, path: &Path, removed: &mut Vec<PathBuf>) -> Result<()> {
    let stat = match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if is_folder {
        let inner = fs::openat(folder, name, FOLDER, Mode::empty())?;
        let mut names: Vec<PathBuf> = Vec::new();
        for entry in Dir::read_from(inner.as_fd())? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).into());
            }
        }
        for name in names {
            take(&inner, &name, &path.join(&name), removed)?;
        }
    }
    let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    fs::unlinkat(folder, name, flags)?;
    removed.push(path.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn holding(path: &str, students: &[&str]) -> Holding {
        let students = students.iter().map(|student| (*student).to_owned()).collect();
        Holding { path: path.into(), students }
    }

    /// A folder of grades: what there is, and whom it is about.
    fn class() -> (tempfile::TempDir, Vec<Holding>) {
        let holdings = vec![
            holding("cache/1.json", &["ada"]),
            holding("cache/2.json", &["ada", "bob"]),
            holding("cache/3.json", &["bob"]),
            holding("drawings/events-1.svg", &["ada"]),
            holding("drawings/events-2.svg", &["ada"]),
            holding("drawings/events-2.svg", &["bob"]),
            holding("html/ada.html", &["ada"]),
            holding("html/bob.html", &["bob"]),
            holding("rows/ada", &["ada"]),
            holding("rows/ada-2", &["ada-2"]),
        ];
        let out = tempfile::tempdir().unwrap();
        for holding in &holdings {
            let path = out.path().join(&holding.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            if holding.path.starts_with("rows") {
                std::fs::create_dir_all(path.join("old")).unwrap();
                std::fs::write(path.join("events.json"), "").unwrap();
                std::fs::write(path.join("old/events.json"), "").unwrap();
            } else {
                std::fs::write(path, "").unwrap();
            }
        }
        (out, holdings)
    }

    fn listing(folder: &Path) -> Vec<String> {
        let mut paths = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(at) = folders.pop() {
            for entry in std::fs::read_dir(at).unwrap().flatten() {
                let path = entry.path();
                paths.push(path.strip_prefix(folder).unwrap().display().to_string());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                }
            }
        }
        paths.sort();
        paths
    }

    #[test]
    fn all_that_is_one_student_s_goes_and_nothing_that_another_has() {
        let (out, holdings) = class();
        let before = listing(out.path());
        let removed = remove(out.path(), &only_of(&holdings, "ada")).unwrap();
        let removed: Vec<_> = removed.iter().map(|path| path.display().to_string()).collect();
        insta::assert_snapshot!(removed.join("\n"), @r"
        cache/1.json
        drawings/events-1.svg
        html/ada.html
        rows/ada
        rows/ada/events.json
        rows/ada/old
        rows/ada/old/events.json
        ");
        let after = listing(out.path());
        let expected: Vec<_> = before.into_iter().filter(|path| !removed.contains(path)).collect();
        assert_eq!(after, expected);
        let again = remove(out.path(), &only_of(&holdings, "ada")).unwrap();
        assert!(again.is_empty(), "{again:?}");
        assert!(only_of(&holdings, "nobody").is_empty());
    }

    #[test]
    fn a_folder_with_something_of_another_s_in_it_stays() {
        let holdings =
            [holding("rows/ada", &["ada"]), holding("rows/ada/shared.json", &["ada", "bob"])];
        assert!(only_of(&holdings, "ada").is_empty());
        let holdings = [holding("group", &["ada", "bob"]), holding("group/ada.json", &["ada"])];
        assert!(only_of(&holdings, "ada").is_empty());
    }

    #[test]
    fn nothing_outside_the_folder_is_removed() {
        let (out, _) = class();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("file"), "").unwrap();
        for path in ["../x", "/etc/passwd", "a/../../x", "", "."] {
            assert!(remove(out.path(), &[path.into()]).is_err(), "{path}");
        }
        symlink(outside.path(), out.path().join("link")).unwrap();
        symlink(outside.path(), out.path().join("rows/ada/link")).unwrap();
        assert!(remove(out.path(), &["link/file".into()]).is_err());
        remove(out.path(), &["rows/ada".into(), "link".into()]).unwrap();
        assert!(!out.path().join("rows/ada").exists());
        assert!(out.path().join("link").symlink_metadata().is_err());
        assert!(outside.path().join("file").is_file());
    }
}
