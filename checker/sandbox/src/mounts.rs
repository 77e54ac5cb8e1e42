//! A root folder in which nothing lies but what a command may read and write, at its usual place.

use std::ffi::{CStr, CString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Access, Confined, Layer, Role};

/// Where the new root is put together: a folder that every system has, and below which nothing lies
/// that a command needs from outside.
const BASE: &CStr = c"/proc";

/// Leaves the root folder of the system for one of its own. The process is in a mount namespace of
/// its own, and the first in its namespace of processes.
pub(super) fn enter(confined: &Confined) -> Result<()> {
    let private = libc::MS_REC | libc::MS_PRIVATE;
    mount(None, c"/", None, private, None).context("cannot keep mounts to itself")?;
    // What is to be bound is looked up before its place is hidden.
    let mut paths: Vec<Bound> = Vec::new();
    for (path, access) in confined.paths() {
        paths.extend(Bound::look(&path, access)?);
    }
    // Folders before what lies in them.
    paths.sort_by(|a, b| a.path.cmp(&b.path));
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    mount(Some(c"tmpfs"), BASE, Some(c"tmpfs"), flags, Some(c"mode=0755,size=4m"))
        .context("cannot mount a folder")?;
    let base = PathBuf::from(std::ffi::OsStr::from_bytes(BASE.to_bytes()));
    for folder in ["proc", "tmp", "old"] {
        make_folder(&base.join(folder))?;
    }
    for bound in &paths {
        bound.place(&base)?;
    }
    make_folder(&below(&base, &confined.folder))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // It says where everything is mounted from, which only Landlock keeps from a program. Where a
    // container hides parts of `/proc` the kernel refuses another; programs do without.
    if confined.role == Role::Compiler || confined.plan.contains(&Layer::Landlock) {
        _ = mount(Some(c"proc"), &c_string(&base.join("proc"))?, Some(c"proc"), flags, None);
    }
    let old = c_string(&base.join("old"))?;
    // SAFETY: both are NUL-terminated strings.
    let moved = unsafe { libc::syscall(libc::SYS_pivot_root, BASE.as_ptr(), old.as_ptr()) };
    check(moved).context("cannot change the root folder")?;
    std::env::set_current_dir("/").context("cannot change to the root folder")?;
    // SAFETY: a NUL-terminated string.
    let left = unsafe { libc::umount2(c"/old".as_ptr(), libc::MNT_DETACH) };
    check(left.into()).context("cannot leave the old root folder")?;
    _ = std::fs::remove_dir("/old"); // empty, and of no use to anyone
    let root = open(Path::new("/"))?;
    restrict(&root, READ_ONLY, Depth::Alone).context("cannot seal the root folder")
}

/// A path that is to be there.
struct Bound {
    /// Where.
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// The same file or folder as outside.
    Same { is_folder: bool, access: Access, outside: OwnedFd },
    /// A link to another place.
    Link(PathBuf),
}

impl Bound {
    /// The parts that have to be there for `path` to lead where it does outside: the file or folder
    /// itself, and a link where there is one on the way. Nothing, where there is nothing outside.
    fn look(path: &Path, access: Access) -> Result<Vec<Self>> {
        let Ok(real) = path.canonicalize() else { return Ok(Vec::new()) };
        let is_folder = real.is_dir();
        let kind = Kind::Same { is_folder, access, outside: open(&real)? };
        let mut found = vec![Self { path: real.clone(), kind }];
        if path != real {
            found.push(Self { path: path.to_owned(), kind: Kind::Link(real) });
        }
        Ok(found)
    }

    fn place(&self, base: &Path) -> Result<()> {
        let at = below(base, &self.path);
        match &self.kind {
            // What it lies in may have brought it.
            Kind::Link(_) if at.symlink_metadata().is_ok() => Ok(()),
            Kind::Link(to) => {
                make_folder(at.parent().unwrap_or(base))?;
                std::os::unix::fs::symlink(to, &at)
                    .with_context(|| format!("cannot make a link `{}`", self.path.display()))
            }
            Kind::Same { is_folder, access, outside } => {
                if *is_folder {
                    make_folder(&at)?;
                } else if at.symlink_metadata().is_err() {
                    make_folder(at.parent().unwrap_or(base))?;
                    File::create(&at)
                        .with_context(|| format!("cannot make `{}`", self.path.display()))?;
                }
                bind(outside, &at, *access)
                    .with_context(|| format!("cannot bind `{}`", self.path.display()))
            }
        }
    }
}

/// Of `linux/mount.h`.
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOUNT_ATTR_NOSUID: u64 = 2;
const MOUNT_ATTR_NODEV: u64 = 4;

const READ_ONLY: u64 = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

/// Puts what `outside` stands for at `at`, wherever its own path leads by now.
fn bind(outside: &OwnedFd, at: &Path, access: Access) -> Result<()> {
    /// Of `linux/mount.h`.
    const OPEN_TREE_CLONE: libc::c_int = 1;
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_int = 4;
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: a NUL-terminated string and a descriptor of our own; the new one is ours alone.
    let tree = unsafe {
        let from = outside.as_raw_fd();
        let tree = libc::syscall(libc::SYS_open_tree, from, c"".as_ptr(), flags);
        check(tree)?;
        OwnedFd::from_raw_fd(tree as libc::c_int)
    };
    let taken = match access {
        Access::Read => READ_ONLY,
        Access::Write => MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        Access::Device => MOUNT_ATTR_NOSUID,
    };
    restrict(&tree, taken, Depth::WithAllBelow)?;
    let at = c_string(at)?;
    let (from, to, flags) = (tree.as_raw_fd(), libc::AT_FDCWD, MOVE_MOUNT_F_EMPTY_PATH);
    // SAFETY: NUL-terminated strings and a descriptor of our own.
    let moved =
        unsafe { libc::syscall(libc::SYS_move_mount, from, c"".as_ptr(), to, at.as_ptr(), flags) };
    check(moved)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Alone,
    WithAllBelow,
}

/// Takes away what need not be possible on a mount; what is not possible already stays so.
fn restrict(mount: &OwnedFd, taken: u64, depth: Depth) -> Result<()> {
    let change = libc::mount_attr { attr_set: taken, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = match depth {
        Depth::Alone => libc::AT_EMPTY_PATH,
        Depth::WithAllBelow => libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
    };
    // SAFETY: a NUL-terminated string, a descriptor of our own, and a structure of the size that is
    // named.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    check(done)
}

/// A descriptor that stands for a path and gives no access to what is there.
fn open(path: &Path) -> Result<OwnedFd> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path);
    Ok(file.with_context(|| format!("cannot find `{}`", path.display()))?.into())
}

fn below(base: &Path, path: &Path) -> PathBuf {
    base.join(path.strip_prefix("/").unwrap_or(path))
}

fn make_folder(path: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .with_context(|| format!("cannot make a folder `{}`", path.display()))
}

fn c_string(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).context("a path holds a NUL")
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: NUL-terminated strings, or null where the kernel takes none.
    let done = unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            pointer(data).cast::<libc::c_void>(),
        )
    };
    check(done.into())
}

fn check(result: libc::c_long) -> Result<()> {
    if result < 0 {
        bail!(std::io::Error::last_os_error());
    }
    Ok(())
}
