//! Programs of ours that try to get out.
//!
//! A canary runs where a student's code would, and really does what it must not be able to do.
//! What got through is on its standard output; the sandbox that set it up believes its own eyes
//! where it can.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The attempts of a canary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Song {
    /// To reach what lies outside.
    Escape(Outside),
    /// To leave a process running that has a lock on this file.
    Daemon { lock: PathBuf },
    /// To make this many processes.
    Fork { processes: u32 },
    /// To take this much memory, once of its own and once shared.
    Hoard { bytes: usize },
    /// Nothing, until standard input is at its end: a process of others.
    Bystander,
}

/// The things that lie outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outside {
    /// A file that everybody may read.
    pub(super) secret: PathBuf,
    /// A file that everybody may write, and beside which everybody may make more.
    pub(super) ledger: PathBuf,
    /// A segment of System V memory that everybody may use, by its number; none where the kernel
    /// has none.
    pub(super) segment: Option<i32>,
    /// Ports of this machine that are listened at.
    pub(super) tcp: u16,
    pub(super) udp: u16,
    /// Sockets that are listened at, one without a file and one with.
    pub(super) name: String,
    pub(super) socket: PathBuf,
    /// A process of the same user as the checker.
    pub(super) bystander: i32,
}

/// The properties of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Property {
    Files,
    Network,
    Parent,
    Survivors,
    Memory,
    Processes,
}

impl Property {
    /// All of them; the floor comes first.
    pub(super) const ALL: [Property; 6] =
        [Self::Files, Self::Network, Self::Parent, Self::Survivors, Self::Memory, Self::Processes];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Network => "network",
            Self::Parent => "parent",
            Self::Survivors => "survivors",
            Self::Memory => "memory",
            Self::Processes => "processes",
        }
    }

    /// Whether nothing runs without it.
    pub(super) fn is_floor(self) -> bool {
        self < Self::Memory
    }
}

/// Something that got through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hole {
    pub(super) property: Property,
    /// The thing that got through.
    pub(super) what: String,
}

/// The body of a canary's process: what got through, as JSON.
pub fn sing(song: &str) -> Result<String> {
    let song: Song = serde_json::from_str(song).context("a canary is told what to try")?;
    let holes = match song {
        Song::Escape(outside) => escape(&outside),
        Song::Daemon { lock } => daemon(&lock)?,
        Song::Fork { processes } => fork(processes),
        Song::Hoard { bytes } => hoard(bytes),
        Song::Bystander => {
            _ = std::io::stdin().read_to_end(&mut Vec::new());
            Vec::new()
        }
    };
    serde_json::to_string_pretty(&holes).context("cannot write what got through")
}

fn escape(outside: &Outside) -> Vec<Hole> {
    let mut holes = Vec::new();
    let mut tried = |property, what: &str, got_through: bool| {
        if got_through {
            holes.push(Hole { property, what: what.to_owned() });
        }
    };
    let Outside { secret, ledger, segment, tcp, udp, name, socket, bystander } = outside;

    let files = Property::Files;
    tried(files, "a file outside was read", std::fs::read(secret).is_ok());
    let folder = secret.parent().map(std::fs::read_dir);
    tried(files, "a folder outside was listed", folder.is_some_and(|it| it.is_ok()));
    let written = OpenOptions::new().append(true).open(ledger).and_then(|mut it| it.write(b"x"));
    tried(files, "a file outside was written", written.is_ok());
    let beside = ledger.with_extension("new");
    tried(files, "a file was made outside", File::create(beside).is_ok());
    for (what, got_through) in metadata(secret) {
        tried(files, what, got_through);
    }
    tried(files, "a file outside was removed", std::fs::remove_file(ledger).is_ok());
    tried(files, "`/etc/passwd` was read", std::fs::read("/etc/passwd").is_ok());

    let network = Property::Network;
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, *tcp));
    tried(network, "TCP got through", stream.is_ok());
    let datagram = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|it| it.send_to(b"x", (Ipv4Addr::LOCALHOST, *udp)));
    tried(network, "UDP got through", datagram.is_ok());
    let address = SocketAddr::from_abstract_name(name);
    let stream = address.and_then(|it| UnixStream::connect_addr(&it));
    tried(network, "an abstract socket was reached", stream.is_ok());
    tried(network, "a socket outside was reached", UnixStream::connect(socket).is_ok());

    let parent = Property::Parent;
    if let Some(segment) = *segment {
        for (what, got_through) in shared_memory(segment) {
            tried(parent, what, got_through);
        }
    }
    let pid = *bystander;
    // SAFETY: nothing is read or written but a byte of our own; the numbers may be anybody's.
    unsafe {
        let seized = libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) == 0;
        tried(parent, "another process was traced", seized);
        if seized {
            libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0);
        }
        let mut byte = 0_u8;
        let ours = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // Any address: what counts is whether the question is refused or the address is wrong.
        let theirs = libc::iovec { iov_base: 4096 as *mut libc::c_void, iov_len: 1 };
        let read = libc::process_vm_readv(pid, &raw const ours, 1, &raw const theirs, 1, 0);
        let errno = std::io::Error::last_os_error().raw_os_error();
        let allowed = read >= 0 || errno == Some(libc::EFAULT);
        tried(parent, "memory of another process was read", allowed);
        let mut present = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        let core = libc::RLIMIT_CORE;
        let asked = libc::prlimit(pid, core, std::ptr::null(), &raw mut present) == 0;
        let set = asked && libc::prlimit(pid, core, &raw const present, std::ptr::null_mut()) == 0;
        tried(parent, "limits of another process were set", set);
    }
    for file in ["mem", "environ", "maps"] {
        let read = File::open(format!("/proc/{pid}/{file}"))
            .and_then(|mut it| if file == "mem" { Ok(1) } else { it.read(&mut [0]) });
        tried(parent, "`/proc` of another process was read", read.is_ok());
    }
    // SAFETY: no memory is involved. The last, since it is not to be survived.
    let killed = unsafe { libc::kill(pid, libc::SIGKILL) } == 0;
    tried(parent, "another process was ended", killed);
    holes
}

/// The state of a file beside its contents: who may use it, when it was changed, what else
/// anyone wrote there, and what happens to it.
fn metadata(file: &Path) -> [(&'static str, bool); 5] {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else { return [("", false); 5] };
    let file = path.as_ptr();
    // SAFETY: NUL-terminated strings, and bytes of our own; null stands for the present time.
    unsafe {
        let value = c"x".as_ptr().cast::<libc::c_void>();
        let set = libc::setxattr(file, c"user.canary".as_ptr(), value, 1, 0) == 0;
        let watcher = libc::inotify_init1(libc::IN_CLOEXEC);
        [
            ("the mode of a file outside was changed", libc::chmod(file, 0o666) == 0),
            (
                "the owner of a file outside was changed",
                libc::chown(file, libc::geteuid(), libc::getegid()) == 0,
            ),
            ("the times of a file outside were changed", libc::utimes(file, std::ptr::null()) == 0),
            ("an attribute of a file outside was set", set),
            (
                "a file outside was watched",
                watcher >= 0 && libc::inotify_add_watch(watcher, file, libc::IN_OPEN) >= 0,
            ),
        ]
    }
}

/// Memory that any processes share by number.
fn shared_memory(segment: i32) -> [(&'static str, bool); 2] {
    // SAFETY: a byte of the segment is read and written, where there is one.
    unsafe {
        let memory = libc::shmat(segment, std::ptr::null(), 0).cast::<u8>();
        let attached = memory as isize != -1;
        if attached {
            memory.write_volatile(memory.read_volatile() + 1);
            libc::shmdt(memory.cast());
        }
        let removed = libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) == 0;
        [
            ("memory that processes outside share was written", attached),
            ("memory that processes outside share was removed", removed),
        ]
    }
}

/// How long a process that was left running goes on, where it is not ended.
const LEFT_BEHIND: Duration = Duration::from_secs(3);

fn daemon(lock: &PathBuf) -> Result<Vec<Hole>> {
    let lock = File::create(lock).context("cannot make the file to lock")?;
    let (mut reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    // SAFETY: this process has one thread; plain calls on descriptors of our own.
    unsafe {
        libc::flock(lock.as_raw_fd(), libc::LOCK_EX);
        match libc::fork() {
            -1 => return Ok(Vec::new()), // nobody is left behind
            0 => {
                libc::setsid();
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                if libc::fork() != 0 {
                    libc::_exit(0);
                }
                drop(reader);
                drop(writer); // says that it is there
                let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
                libc::dup2(null, 1);
                libc::dup2(null, 2);
                std::thread::sleep(LEFT_BEHIND);
                libc::_exit(0);
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
    drop(writer);
    _ = reader.read(&mut [0]);
    Ok(Vec::new())
}

/// How long what should have been stopped waits for it: many times a look of the watchdog's.
const PATIENCE: Duration = Duration::from_millis(300);

fn fork(processes: u32) -> Vec<Hole> {
    let mut made = 0;
    for _ in 0..processes {
        // SAFETY: this process has one thread; the child makes plain calls alone.
        match unsafe { libc::fork() } {
            -1 => break,
            0 => {
                std::thread::sleep(LEFT_BEHIND);
                // SAFETY: no memory is involved.
                unsafe { libc::_exit(0) };
            }
            _ => made += 1,
        }
    }
    if made < processes {
        return Vec::new();
    }
    std::thread::sleep(PATIENCE);
    vec![Hole { property: Property::Processes, what: format!("{made} processes were made") }]
}

fn hoard(bytes: usize) -> Vec<Hole> {
    let mut holes = Vec::new();
    for (flag, whose) in [(libc::MAP_PRIVATE, "of its own"), (libc::MAP_SHARED, "to share")] {
        let what = format!("{} MiB of memory {whose} were taken", bytes >> 20);
        // SAFETY: a new mapping, of which one byte a page is written.
        let taken = unsafe {
            let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, flag | libc::MAP_ANONYMOUS);
            let memory = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                false
            } else {
                for at in (0..bytes).step_by(4096) {
                    memory.cast::<u8>().add(at).write_volatile(1);
                }
                true
            }
        };
        if taken {
            std::thread::sleep(PATIENCE);
            holes.push(Hole { property: Property::Memory, what });
        }
    }
    holes
}
