//! The process that stands between the checker and one command.
//!
//! It is the checker's own program, started anew: it has one thread, knows nothing but its order,
//! and is the parent of whatever the command leaves running. What it writes to the checker is what
//! the kernel told it, and never what the command said.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::cgroup::{self, Group};
use super::{Confined, Exceeded, Layer, Told, Trouble, Unavailable, confine, mounts, watchdog};
use crate::process;

/// Carries out the order that comes through `descriptor`, and answers there.
pub fn supervise(descriptor: RawFd) -> Result<()> {
    // SAFETY: the descriptor was inherited for this alone.
    let mut line = unsafe { File::from_raw_fd(descriptor) };
    // SAFETY: a plain call on a descriptor of our own.
    unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    let mut order = Vec::new();
    line.read_to_end(&mut order).context("cannot read the order")?;
    let confined: Confined = serde_json::from_slice(&order).context("cannot read the order")?;
    let told = carry_out(&confined).unwrap_or_else(|error| Told::Trouble(Trouble::of(&error)));
    let answer = serde_json::to_vec(&told).context("cannot write the answer")?;
    line.write_all(&answer).context("cannot write the answer")
}

/// How often memory and processes are looked at: often enough that a program which takes what it
/// can gets less than a tenth of a second's worth, and seldom enough to cost nothing.
const LOOK: Duration = Duration::from_millis(10);

fn carry_out(confined: &Confined) -> Result<Told> {
    let has = |layer| confined.plan.contains(&layer);
    if has(Layer::Uid) {
        give_folders(confined)?;
    }
    if has(Layer::Reaper) {
        // SAFETY: no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    // While this is who it was: what a process may write to is asked when it is opened.
    let group = has(Layer::Cgroup).then(|| Group::new(&confined.limits)).transpose();
    let group = group.map_err(Unavailable::of(Layer::Cgroup))?;
    let door = group.as_ref().map(Group::door).transpose();
    let door = door.map_err(Unavailable::of(Layer::Cgroup))?;
    if has(Layer::Namespaces) {
        enter_namespaces().map_err(Unavailable::of(Layer::Namespaces))?;
    }
    // No other process of the same user looks into this process or changes it.
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };

    let (trouble, troubled) = pipe()?;
    let (status, ended) = pipe()?;
    let deadline = Instant::now() + confined.limits.wall;
    // SAFETY: this process has one thread, so the child may do whatever it likes.
    let child = match unsafe { libc::fork() } {
        -1 => bail!("cannot make a process: {}", std::io::Error::last_os_error()),
        0 => {
            drop((trouble, status));
            end_with_parent();
            if let Some(Err(error)) = door.map(cgroup::enter) {
                tell(&Unavailable::of(Layer::Cgroup)(error), &troubled);
                leave(1);
            }
            if has(Layer::Namespaces) {
                first_process(confined, troubled, ended);
            }
            drop(ended);
            give_up(confine::become_command(confined), troubled);
        }
        child => child,
    };
    drop((troubled, ended, door));
    let mut text = String::new();
    File::from(trouble).read_to_string(&mut text).context("cannot read from the child")?;
    if !text.is_empty() {
        end_all(child, confined);
        let trouble = serde_json::from_str(&text).context("cannot read from the child")?;
        return Ok(Told::Trouble(trouble));
    }

    let mut exceeded = watch(child, confined, group.as_ref(), deadline);
    if let Some(group) = &group {
        group.end();
        exceeded = exceeded.or_else(|| group.exceeded(&confined.limits));
    }
    let direct = end_all(child, confined);
    let status = if has(Layer::Namespaces) {
        let mut bytes = [0; 4];
        let told = File::from(status).read_exact(&mut bytes).is_ok();
        // The first process was killed before the program had come to its end.
        if told { i32::from_ne_bytes(bytes) } else { libc::SIGKILL }
    } else {
        direct
    };
    if has(Layer::Reaper) && process::has_children() {
        bail!("the command left processes that cannot be ended");
    }
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    exceeded = exceeded.or(match signal {
        Some(libc::SIGXCPU) => Some(Exceeded::Time),
        Some(libc::SIGXFSZ) => Some(Exceeded::FileSize),
        Some(libc::SIGKILL) if cpu_time() >= confined.limits.cpu_s => Some(Exceeded::Time),
        _ => None,
    });
    Ok(Told::Ended { status, exceeded })
}

/// Gives the folders of a command to the user that it runs as.
fn give_folders(confined: &Confined) -> Result<()> {
    let uid = confine::uid(confined.slot);
    for folder in &confined.writable {
        std::os::unix::fs::lchown(folder, Some(uid), Some(uid))
            .with_context(|| format!("cannot give `{}` to user {uid}", folder.display()))
            .map_err(Unavailable::of(Layer::Uid))?;
    }
    Ok(())
}

/// From now on children have processes, network and IPC of their own. Without root, the process
/// first enters a user namespace in which it is the only user.
fn enter_namespaces() -> Result<()> {
    // SAFETY: plain questions.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let user = if uid == 0 { 0 } else { libc::CLONE_NEWUSER };
    let flags =
        user | libc::CLONE_NEWPID | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    // SAFETY: no memory is involved.
    if unsafe { libc::unshare(flags) } != 0 {
        bail!("cannot make namespaces: {}", std::io::Error::last_os_error());
    }
    if user != 0 {
        let write = |file: &str, text: String| {
            let path = format!("/proc/self/{file}");
            std::fs::write(&path, text).with_context(|| format!("cannot write `{path}`"))
        };
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{uid} {uid} 1"))?;
        write("gid_map", format!("{gid} {gid} 1"))?;
    }
    Ok(())
}

fn end_with_parent() {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// The first process of a namespace: with it everything ends that is in there.
fn first_process(confined: &Confined, troubled: OwnedFd, ended: OwnedFd) -> ! {
    if confined.plan.contains(&Layer::Mounts) {
        // SAFETY: no memory is involved.
        let alone = unsafe { libc::unshare(libc::CLONE_NEWNS) };
        let entered = match alone {
            0 => mounts::enter(confined),
            _ => Err(std::io::Error::last_os_error()).context("cannot make a mount namespace"),
        };
        if let Err(error) = entered {
            tell(&Unavailable::of(Layer::Mounts)(error), &troubled);
            leave(1);
        }
    }
    // SAFETY: this process has one thread, so the child may do whatever it likes.
    let program = match unsafe { libc::fork() } {
        -1 => {
            tell(&std::io::Error::last_os_error().into(), &troubled);
            leave(1);
        }
        0 => {
            drop(ended);
            end_with_parent();
            give_up(confine::become_command(confined), troubled);
        }
        program => program,
    };
    drop(troubled);
    // Nothing more to do but to wait: nothing that a descriptor leads to is needed.
    loop {
        let mut status = 0;
        // SAFETY: the status is written in place.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if pid == program {
            _ = File::from(ended).write_all(&status.to_ne_bytes()); // nobody is there to tell
            leave(0);
        }
        if pid < 0 && std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            leave(1);
        }
    }
}

fn give_up(became: Result<std::convert::Infallible>, troubled: OwnedFd) -> ! {
    let Err(error) = became;
    tell(&error, &troubled);
    leave(1)
}

fn tell(error: &anyhow::Error, troubled: &OwnedFd) {
    let text = serde_json::to_vec(&Trouble::of(error)).unwrap_or_default();
    if let Ok(copy) = troubled.try_clone() {
        _ = File::from(copy).write_all(&text); // nobody is there to tell
    }
}

/// Ends this process, and runs nothing that was meant for the one it was forked from.
fn leave(status: i32) -> ! {
    // SAFETY: no memory is involved.
    unsafe { libc::_exit(status) }
}

/// Waits for the end of `child`, or for the first limit that it exceeds.
fn watch(
    child: libc::pid_t,
    confined: &Confined,
    group: Option<&Group>,
    deadline: Instant,
) -> Option<Exceeded> {
    // SAFETY: no memory is involved; the child has not been waited for.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
    // SAFETY: the descriptor is new.
    let pidfd = (raw >= 0).then(|| unsafe { OwnedFd::from_raw_fd(raw as RawFd) });
    loop {
        let now = Instant::now();
        if now >= deadline {
            return Some(Exceeded::Time);
        }
        wait_at_most(pidfd.as_ref(), LOOK.min(deadline - now));
        if has_ended(child) {
            return None;
        }
        if let Some(exceeded) = group.and_then(|group| group.exceeded(&confined.limits)) {
            return Some(exceeded);
        }
        if confined.plan.contains(&Layer::Watchdog)
            && let Some(exceeded) = watchdog::look(child, &confined.limits)
        {
            return Some(exceeded);
        }
    }
}

fn wait_at_most(pidfd: Option<&OwnedFd>, time: Duration) {
    let Some(pidfd) = pidfd else { return std::thread::sleep(time) };
    let mut watched = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = time.as_millis().max(1) as libc::c_int; // at most a look's time
    // SAFETY: one structure that lives until the call returns.
    unsafe { libc::poll(&raw mut watched, 1, milliseconds) };
}

/// Whether a child is at its end. It stays to be waited for.
fn has_ended(child: libc::pid_t) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: `info` is written in place, and zeroed where there is nothing to say.
    unsafe {
        let asked = libc::waitid(libc::P_PID, child as libc::id_t, info.as_mut_ptr(), options);
        asked != 0 || info.assume_init().si_pid() == child
    }
}

/// How long the last processes may take to be gone: one that the kernel is busy with, a dump of
/// much memory say, cannot be waited for in vain.
const GONE: Duration = Duration::from_secs(10);

/// Ends the child, its group, and whatever has lost its parent. Returns the child's status.
fn end_all(child: libc::pid_t, confined: &Confined) -> i32 {
    let mut status = 0;
    // SAFETY: the child has not been waited for, so its number is its own, and its group's if it
    // got as far as making one; the status is written in place.
    unsafe {
        libc::kill(-child, libc::SIGKILL);
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
    if !confined.plan.contains(&Layer::Reaper) {
        return status;
    }
    let deadline = Instant::now() + GONE;
    loop {
        let orphans = process::children();
        if orphans.is_empty() || Instant::now() > deadline {
            return status;
        }
        for &orphan in &orphans {
            // SAFETY: no memory is involved; it is a child of ours that has not been waited for.
            unsafe { libc::kill(orphan, libc::SIGKILL) };
        }
        for orphan in orphans {
            // SAFETY: as above.
            unsafe { libc::waitpid(orphan, std::ptr::null_mut(), 0) };
        }
    }
}

/// Whole seconds of CPU time of everything that was waited for.
fn cpu_time() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is written in place, and zeroed it is valid.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |it: libc::timeval| Duration::new(it.tv_sec as u64, it.tv_usec as u32 * 1000);
    (time(usage.ru_utime) + time(usage.ru_stime)).as_secs()
}

fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    Ok((reader.into(), writer.into()))
}
