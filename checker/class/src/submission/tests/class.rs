//! A class's folder that a test fills, and what becomes of it.

use std::ffi::OsStr;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::submission::*;

pub(super) const OWN: &[u8] = b"// own\n";

/// A class's folder that a test fills.
pub(super) struct Class {
    pub(super) folder: TempDir,
}

impl Class {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Where `path` is, with the folders above it made.
    pub(super) fn at(&self, path: impl AsRef<OsStr>) -> PathBuf {
        let path = self.folder.path().join(path.as_ref());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub(super) fn file(&self, path: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.at(path), bytes).unwrap();
        self
    }

    pub(super) fn students(&self) -> Vec<Student> {
        find(self.folder.path(), &wanted()).unwrap()
    }

    /// What becomes of the only student's `three_lanes`.
    pub(super) fn outcome(&self) -> String {
        let students = self.students();
        assert_eq!(students.len(), 1, "{students:?}");
        outcome(&students[0].handed[1])
    }
}

pub(super) fn wanted() -> Vec<Wanted> {
    [("two_streams", "02_two_streams"), ("three_lanes", "04_three_lanes")]
        .map(|(name, folder)| Wanted {
            name: name.to_owned(),
            folder: folder.to_owned(),
            shipped: Some(b"// shipped\n".to_vec()),
        })
        .into()
}

pub(super) fn outcome(handed: &Handed) -> String {
    match handed {
        Handed::File(file) => {
            assert_eq!(file.submitted.sha256, sha256(file.text.as_bytes()));
            let flags: String = file.flags.iter().map(|flag| format!("\n  flag: {flag}")).collect();
            format!("{} {:?} {:?}{flags}", file.submitted.path, file.state, file.text.trim_end())
        }
        Handed::Missing { hint } => format!("missing, hint: {}", hint.as_deref().unwrap_or("none")),
        Handed::Invalid { reason } => format!("invalid: {reason}"),
    }
}
