//! The entries of a folder or of an archive, alike.

/// Something in a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    /// Its path below the place that is read, with `/` between the names.
    pub(super) path: Vec<u8>,
    pub(super) kind: Kind,
}

/// The kind of an entry of a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    File,
    Folder,
    /// An entry that is not looked at, and why, in words that follow its name.
    Refused(String),
}

/// A folder or an archive. Reasons are in words that follow the name of the entry.
pub(super) trait Tree: Send + Sync {
    /// All that lies below `below`, in no particular order, down to `depth` names.
    fn items(&self, below: &[u8], depth: usize) -> Result<Vec<Item>, String>;

    /// The bytes of a file of no more than `most` bytes. They are read once, now.
    fn read(&self, path: &[u8], most: u64) -> Result<Vec<u8>, String>;
}

/// Names deep that are looked for files: a repository in an archive in a folder, with some to spare
/// so that a hint can say where something lies.
pub(super) const DEPTH: usize = 8;

/// Folders that are never looked into: what tools put there is nobody's work, and it is much.
pub(super) const UNOPENED: [&[u8]; 4] = [b".git", b"target", b"node_modules", b"__MACOSX"];

/// Why a file is too long.
pub(super) fn too_long(bytes: u64, most: u64) -> String {
    format!("has {bytes} bytes; no more than {most} are read")
}

/// One path after another.
pub(super) fn join(above: &[u8], below: &[u8]) -> Vec<u8> {
    match (above, below) {
        ([], path) | (path, []) => path.to_vec(),
        _ => [above, b"/", below].concat(),
    }
}
