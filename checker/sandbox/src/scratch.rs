//! A folder of our own for as long as it is needed.

use std::ffi::CString;
use std::fs::{File, Permissions};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

/// A folder that goes away with this value.
#[derive(Debug)]
#[must_use = "dropping it removes the folder"]
pub struct Scratch {
    path: PathBuf,
    /// The folder, locked for as long as this value lives, however the process ends.
    _lock: Option<File>,
}

/// How the names of these folders begin.
const BEGINS: &str = "checker-";

/// A folder that was made just now may not have been locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// Removes the folders of processes that were killed before they could do it: students' files may
/// be in them.
pub fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(BEGINS) && is_deserted(&entry.path()) {
            // What another user's process left is for that user to remove.
            _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether no process has a folder any more.
fn is_deserted(path: &Path) -> bool {
    let Ok(data) = path.symlink_metadata() else { return false };
    let made = data.modified().ok().and_then(|at| at.elapsed().ok());
    data.is_dir() && made.is_some_and(|age| age > YOUNG) && lock(path).is_some()
}

/// Locks a folder; none where another process has.
fn lock(path: &Path) -> Option<File> {
    let folder = File::open(path).ok()?;
    // SAFETY: a plain call on a descriptor of our own.
    let locked = unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    locked.then_some(folder)
}

impl Scratch {
    /// A new empty folder that no other user can read.
    pub fn new() -> Result<Self> {
        let template = std::env::temp_dir().join(format!("{BEGINS}XXXXXX"));
        let template = CString::new(template.as_os_str().as_bytes())
            .context("the folder for temporary files has a NUL in its name")?;
        let raw = template.into_raw();
        // SAFETY: `raw` is a NUL-terminated string that this function owns; `mkdtemp` changes its
        // last six bytes in place.
        let made = unsafe { libc::mkdtemp(raw) };
        let error = std::io::Error::last_os_error();
        // SAFETY: `raw` came from `into_raw` above and its length has not changed.
        let path = unsafe { CString::from_raw(raw) };
        let path = PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes()));
        if made.is_null() {
            return Err(error).with_context(|| {
                format!("cannot make a folder for temporary files, `{}`", path.display())
            });
        }
        let lock = lock(&path);
        Ok(Self { path, _lock: lock })
    }

    /// The same, for programs that run as other users: they can go through it to what they know the
    /// name of, and see nothing else.
    pub fn passable() -> Result<Self> {
        let scratch = Self::new()?;
        std::fs::set_permissions(&scratch.path, Permissions::from_mode(0o711))
            .with_context(|| format!("cannot open the way through `{}`", scratch.path.display()))?;
        Ok(scratch)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays in a folder for temporary files does no harm.
        _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_somebodys_until_the_one_who_made_it_is_gone() {
        let scratch = Scratch::new().expect("a folder");
        let long_ago = std::time::SystemTime::now() - 2 * YOUNG;
        let age = |path: &Path| {
            let folder = File::open(path).expect("a folder");
            folder.set_modified(long_ago).expect("its time");
        };
        age(scratch.path());
        assert!(!is_deserted(scratch.path()));
        // As it is when its process was killed: the folder is there, and the lock is not.
        let Scratch { path, _lock: lock } = &scratch;
        let lock = lock.as_ref().expect("a lock");
        // SAFETY: a plain call on a descriptor of our own.
        unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_UN) };
        assert!(is_deserted(path));
    }
}
