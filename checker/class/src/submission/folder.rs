//! A folder on disk that others wrote into: nothing outside it is ever opened.
//!
//! A path is resolved by the kernel below the folder's descriptor, without symbolic links; where a
//! kernel or a filter of calls does not have `openat2`, name by name. What a name stands for is
//! looked at before it is opened, for opening a device can do something, and opening a pipe waits.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::tree::{Item, Kind, Tree, UNOPENED, join, too_long};

/// Most entries of one student's folder: twice what was once handed in with all of a build.
const ENTRIES: usize = 200_000;

/// A folder, kept open.
#[derive(Debug)]
pub(super) struct Folder {
    root: OwnedFd,
}

/// To look at something without opening it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// To read a file; should it have become a pipe or a terminal, neither to wait for it nor to be
/// its.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);
/// To list a folder.
const LIST: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

impl Folder {
    /// The folder at `path`, which is the instructor's word and may be a link.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let root = fs::openat(CWD, path, flags, Mode::empty())
            .with_context(|| format!("cannot open the folder `{}`", path.display()))?;
        Ok(Self { root })
    }

    fn walk(
        &self,
        folder: &OwnedFd,
        above: &[u8],
        depth: usize,
        items: &mut Vec<Item>,
    ) -> Result<(), String> {
        let entries = Dir::read_from(folder).map_err(words)?;
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(words)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if items.len() == ENTRIES {
                return Err(format!("holds more than {ENTRIES} files{CLEAN}"));
            }
            let path = join(above, name);
            let kind = match entry.file_type() {
                FileType::RegularFile => Kind::File,
                FileType::Directory | FileType::Unknown => look(folder, name),
                other => Kind::Refused(is_no_file(other)),
            };
            if kind == Kind::Folder && depth > 1 && !UNOPENED.contains(&name) {
                folders.push((name.to_vec(), path.clone()));
            }
            items.push(Item { path, kind });
        }
        for (name, path) in folders {
            match fs::openat(folder, &name[..], LIST, Mode::empty()) {
                Ok(folder) => self.walk(&folder, &path, depth - 1, items)?,
                // It may have gone or become something else since it was listed.
                Err(error) => items.push(Item { path, kind: Kind::Refused(words(error)) }),
            }
        }
        Ok(())
    }
}

const CLEAN: &str = "\n\nhint: hand in the source files alone, without what `cargo build` made";

/// The kind of `name` in `folder`; for a folder, whether its owner lets anybody look into it.
fn look(folder: &OwnedFd, name: &[u8]) -> Kind {
    let stat = match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(error) => return Kind::Refused(words(error)),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => {
            permitted(&stat, 0o500).map_or_else(Kind::Refused, |()| Kind::Folder)
        }
        other => Kind::Refused(is_no_file(other)),
    }
}

/// Whether the owner has the rights `bits`. The superuser could read without: but then who grades
/// would decide what is graded.
fn permitted(stat: &Stat, bits: u32) -> Result<(), String> {
    if stat.st_mode & bits == bits {
        return Ok(());
    }
    let mode = stat.st_mode & 0o7777;
    Err(format!("cannot be read: its permissions are {mode:04o}"))
}

impl Tree for Folder {
    fn items(&self, below: &[u8], depth: usize) -> Result<Vec<Item>, String> {
        let mut items = Vec::new();
        let place = if below.is_empty() { b"." } else { below };
        let folder = open(self.root.as_fd(), place, LIST).map_err(words)?;
        self.walk(&folder, b"", depth, &mut items)?;
        Ok(items)
    }

    fn read(&self, path: &[u8], most: u64) -> Result<Vec<u8>, String> {
        let place = open(self.root.as_fd(), path, LOOK).map_err(words)?;
        let seen = fs::fstat(&place).map_err(words)?;
        allowed(&seen, most)?;
        let file = open(self.root.as_fd(), path, READ).map_err(words)?;
        let stat = fs::fstat(&file).map_err(words)?;
        if (stat.st_dev, stat.st_ino) != (seen.st_dev, seen.st_ino) {
            return Err("was replaced while it was being read".to_owned());
        }
        allowed(&stat, most)?;
        let mut bytes = Vec::new();
        let read = File::from(file).take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("cannot be read: {error}"))?;
        // It may have grown since.
        if bytes.len() as u64 > most {
            return Err(too_long(bytes.len() as u64, most));
        }
        Ok(bytes)
    }
}

fn allowed(stat: &Stat, most: u64) -> Result<(), String> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(is_no_file(kind));
    }
    permitted(stat, 0o400)?;
    if stat.st_nlink > 1 {
        return Err(HARD_LINK.to_owned());
    }
    let bytes = stat.st_size as u64;
    if bytes > most {
        return Err(too_long(bytes, most));
    }
    Ok(())
}

/// Neither a checkout of git nor a file system that stores equal blocks once makes these.
const HARD_LINK: &str = "has a second name somewhere (a hard link), so it could be anybody's file; an \
archive, git and a file system that stores equal files once do not make such links\n\nhint: copy it";

fn is_no_file(kind: FileType) -> String {
    let what = match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder, not a file",
        FileType::Symlink => "a symbolic link, and none is followed",
        FileType::Fifo => "a named pipe, not a file",
        FileType::Socket => "a socket, not a file",
        FileType::CharacterDevice | FileType::BlockDevice => "a device, not a file",
        FileType::Unknown => "not a file",
    };
    format!("is {what}")
}

fn words(error: Errno) -> String {
    match error {
        // `openat2` and `O_NOFOLLOW` say it so.
        Errno::LOOP => is_no_file(FileType::Symlink),
        Errno::XDEV => "leads out of the folder".to_owned(),
        Errno::ACCESS | Errno::PERM => "cannot be read: permission denied".to_owned(),
        error => format!("cannot be read: {}", std::io::Error::from(error)),
    }
}

/// Opens `path` below `root`, following no link.
fn open(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(root, path, flags, Mode::empty(), resolve) {
        // A kernel before 5.6, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(root, path, flags),
        opened => opened,
    }
}

fn open_by_steps(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut names = path.split(|&byte| byte == b'/').peekable();
    let mut folder: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        if name == b".." || name.is_empty() {
            return Err(Errno::XDEV);
        }
        let above = folder.as_ref().map_or(root, AsFd::as_fd);
        let last = names.peek().is_none();
        let step = if last { flags } else { LOOK | OFlags::DIRECTORY };
        match fs::openat(above, name, step, Mode::empty()) {
            Ok(opened) if last => return Ok(opened),
            Ok(opened) => folder = Some(opened),
            // A link is no folder.
            Err(Errno::NOTDIR) if !last => {
                let stat = fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
                return Err(if link { Errno::LOOP } else { Errno::NOTDIR });
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn without_openat2_no_link_is_followed_either() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let at = |name: &str| inside.path().join(name);
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("folder/file"), "own").unwrap();
        symlink(outside.path(), at("link")).unwrap();
        symlink(outside.path().join("secret"), at("folder/secret")).unwrap();
        let folder = Folder::open(inside.path()).unwrap();
        let root = folder.root.as_fd();
        for way in [open, open_by_steps] {
            assert!(way(root, b"folder/file", READ).is_ok());
            assert_eq!(way(root, b"link/secret", READ).unwrap_err(), Errno::LOOP);
            assert_eq!(way(root, b"folder/secret", READ).unwrap_err(), Errno::LOOP);
            assert_eq!(way(root, b"../secret", READ).unwrap_err(), Errno::XDEV);
            assert_eq!(way(root, b"/etc/passwd", READ).unwrap_err(), Errno::XDEV);
        }
    }
}
