//! A folder of our own for as long as it is needed.

use std::ffi::CString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder that goes away with this value.
#[derive(Debug)]
#[must_use = "dropping it removes the folder"]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A new empty folder that no other user can read.
    pub(crate) fn new() -> Result<Self> {
        let template = std::env::temp_dir().join("checker-XXXXXX");
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
        Ok(Self { path })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind in a folder for temporary files does no harm.
        _ = std::fs::remove_dir_all(&self.path);
    }
}
