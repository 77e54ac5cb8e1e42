//! One child process: its limits, its output, its end, and that nothing of it is left running.
//!
//! A child gets a session and a process group of its own, no standard input, and one pipe for
//! standard output and standard error together, so that the order of what it prints is kept. At its
//! end, however that comes, the whole group is killed, and so is whatever left the group: the
//! checker is made the parent of orphans below it for as long as the child runs.

use std::fmt::Write as _;
use std::io::{self, PipeReader, Read};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::interrupt::{self, Superseded};

/// Limits of a child.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time on the wall clock.
    pub wall: Duration,
    /// Bytes of output that are kept; the rest is read and dropped, so that no child ever waits for
    /// room in the pipe.
    pub output_bytes: usize,
}

/// A child that has come to its end.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// The text that it printed.
    pub output: Output,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit status.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It ran longer than it may and was killed.
    OutOfTime,
    /// Its companion came to an end before it, and it was killed.
    Deserted,
    /// It printed without end and was killed.
    OutOfOutput,
}

/// Runs `command` to its end within `limits`. Its companion is another child of the checker,
/// without which it cannot go on.
pub fn run(command: Command, limits: Limits, companion: Option<u32>) -> Result<Finished> {
    let orphans = AdoptOrphans::start();
    let finished = run_alone(command, limits, companion, None, Flood::Drained, Some(&orphans));
    drop(orphans);
    finished
}

/// The same for a child that looks after its own children itself, so that several may run at
/// once. `handed` is closed as soon as the child has it; one that prints without end is killed.
pub fn supervised(
    command: Command,
    limits: Limits,
    companion: Option<u32>,
    handed: Option<OwnedFd>,
) -> Result<Finished> {
    run_alone(command, limits, companion, handed, Flood::Ended, None)
}

/// The fate of a child that prints without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flood {
    /// It is read until its time is up.
    Drained,
    /// It is killed.
    Ended,
}

/// Output after which a child is taken to print without end: far more than anyone reads, and a
/// second's worth of writing.
const FLOOD_BYTES: u64 = 64 << 20;

fn run_alone(
    mut command: Command,
    limits: Limits,
    companion: Option<u32>,
    handed: Option<OwnedFd>,
    flood: Flood,
    orphans: Option<&AdoptOrphans>,
) -> Result<Finished> {
    let program = command.get_program().display().to_string();
    let (reader, writer) = io::pipe().context("cannot make a pipe")?;
    let second = writer.try_clone().context("cannot make a pipe")?;
    command.stdin(Stdio::null()).stdout(writer).stderr(second);
    // SAFETY: between fork and exec only system calls are made, on integers.
    unsafe { command.pre_exec(isolate) };

    let guard = interrupt::guard();
    let mut child = command.spawn().with_context(|| format!("cannot start `{program}`"))?;
    let group = -pid(&child);
    guard.kills(group, Superseded::Yields);
    drop(command); // it holds the pipe's other end, and without that the output never ends
    drop(handed);

    let (sender, receiver) = mpsc::channel();
    let flooded = (flood == Flood::Ended).then(|| sender.clone());
    let capture = Capture::start(reader, limits.output_bytes, flooded);
    let first = first_to_end(child.id(), companion, limits.wall, &sender, &receiver);
    // SAFETY: no memory is involved. The child has not been waited for, so its number, which is the
    // group's, cannot have gone to anyone else.
    unsafe { libc::kill(group, libc::SIGKILL) };
    let status = child.wait().with_context(|| format!("cannot wait for `{program}`"))?;
    if let Some(orphans) = orphans {
        orphans.end();
    }
    let output = capture.finish();
    drop(guard);
    interrupt::check()?;

    let ending = match first {
        First::Child => ending(status),
        First::Companion => Ending::Deserted,
        First::Limit => Ending::OutOfTime,
        First::Flood => Ending::OutOfOutput,
    };
    Ok(Finished { ending, output })
}

/// The meaning of an exit status.
pub fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
    }
}

fn pid(child: &Child) -> libc::pid_t {
    // Linux numbers processes below 2^22.
    child.id() as libc::pid_t
}

/// Runs in the child, before the program.
fn isolate() -> io::Result<()> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: system calls on integers, and on one structure that lives until they return.
    unsafe {
        // A session of its own is also a group of its own, without a terminal to read from.
        if libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
        // If the checker itself is killed, nothing would end the child.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Many students crash, and the core files are not read.
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
    }
    Ok(())
}

/// The one that came to its end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Child,
    Companion,
    Limit,
    /// It printed too much.
    Flood,
}

/// Waits until one of the processes has exited, at most for `limit`. Both stay to be waited for.
fn first_to_end(
    child: u32,
    companion: Option<u32>,
    limit: Duration,
    sender: &mpsc::Sender<First>,
    receiver: &mpsc::Receiver<First>,
) -> First {
    let watched = [(Some(child), First::Child), (companion, First::Companion)];
    for (pid, first) in watched {
        let Some(pid) = pid else { continue };
        let sender = sender.clone();
        // Each thread ends with its process, which is killed soon after this function has returned.
        std::thread::spawn(move || {
            await_exit(pid);
            _ = sender.send(first); // the one who asked may have stopped waiting
        });
    }
    receiver.recv_timeout(limit).unwrap_or(First::Limit)
}

/// Waits until a child has exited. It stays to be waited for, so its number stays taken.
fn await_exit(pid: u32) {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        let options = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is writable for one `siginfo_t`.
        let result = unsafe { libc::waitid(libc::P_PID, pid, info.as_mut_ptr(), options) };
        if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// While it lives, processes below the checker that lose their parent become its own children.
struct AdoptOrphans {
    /// Children that were there before: a companion, or what a shell started that then became the
    /// checker.
    before: Vec<libc::pid_t>,
}

/// How often orphans are looked for: each time may bring up the children of those just killed, and
/// one that forks faster than it is killed must not keep the checker.
const ORPHAN_ROUNDS: usize = 64;

impl AdoptOrphans {
    fn start() -> Self {
        // Where the kernel cannot do it, the group is all that is ended.
        // SAFETY: no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        Self { before: children() }
    }

    fn end(&self) {
        for _ in 0..ORPHAN_ROUNDS {
            let mut orphans = children();
            orphans.retain(|pid| !self.before.contains(pid));
            if orphans.is_empty() {
                return;
            }
            for pid in orphans {
                // SAFETY: no memory is involved; `pid` is a child of ours that has not been waited
                // for.
                unsafe {
                    libc::kill(pid, libc::SIGKILL);
                    libc::waitpid(pid, std::ptr::null_mut(), 0);
                }
            }
        }
    }
}

impl Drop for AdoptOrphans {
    fn drop(&mut self) {
        // SAFETY: no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 0) };
    }
}

/// Lets the program of `command` have `fd`, which must stay open until it has been started.
pub fn inherit(command: &mut Command, fd: RawFd) {
    // SAFETY: between fork and exec only system calls on integers are made.
    unsafe {
        command.pre_exec(move || {
            if libc::fcntl(fd, libc::F_SETFD, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// The children of this process. Most kernels list them for each thread; elsewhere every process of
/// the machine says which is its parent, which takes the longer the more there are.
pub fn children() -> Vec<libc::pid_t> {
    if !has_children() {
        return Vec::new();
    }
    match (listed_children(), listed_children()) {
        // A list that is read while one process ends may leave out another, so it is read twice.
        (Some(mut once), Some(again)) => {
            once.extend(again);
            once.sort_unstable();
            once.dedup();
            once
        }
        _ => children_of_all(),
    }
}

/// Whether there is anybody to wait for.
pub fn has_children() -> bool {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is writable for one `siginfo_t`.
    let asked = unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) };
    asked == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ECHILD)
}

/// The children of each thread, as the kernel lists them; none where it does not.
fn listed_children() -> Option<Vec<libc::pid_t>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found
                .extend(list.split_whitespace().filter_map(|it| it.parse::<libc::pid_t>().ok())),
            // The thread has ended, and its children are another's.
            Err(_) if !thread.path().exists() => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

fn children_of_all() -> Vec<libc::pid_t> {
    let own = std::process::id().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &libc::pid_t| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // `pid (name) state parent …`, where the name may hold spaces and brackets.
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)) == Some(&own)
        })
        .collect()
}

/// The text that a child printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The first part of it; all of it, as far as there was room.
    pub head: String,
    /// How many bytes between the two parts were dropped.
    pub dropped_bytes: u64,
    /// The last part, where any were dropped: a panic's message comes last.
    pub tail: String,
}

impl Output {
    /// All that was kept, with a note where something was dropped. Empty if nothing was printed.
    pub fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.dropped_bytes > 0 {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            // Rounded, so that a line more or less does not change the report.
            let kib = self.dropped_bytes.div_ceil(1024);
            _ = writeln!(text, "[… {kib} KiB of output left out …]");
            text.push_str(self.tail.trim_start_matches('\n'));
        }
        text
    }

    /// The end of what was printed.
    pub fn end(&self) -> &str {
        if self.dropped_bytes > 0 { &self.tail } else { &self.head }
    }
}

/// How much of the end of a long output is kept.
const TAIL_BYTES: usize = 4096;

#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    dropped: u64,
}

impl Kept {
    fn push(&mut self, bytes: &[u8], head_bytes: usize) {
        let room = head_bytes.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }
}

struct Capture {
    kept: Arc<Mutex<Kept>>,
    done: mpsc::Receiver<()>,
}

/// How long the rest of the output may take once every process that could print is dead.
const DRAIN: Duration = Duration::from_secs(1);

impl Capture {
    /// `flooded` is told once when there is more than anyone will read.
    fn start(
        mut reader: PipeReader,
        bytes: usize,
        mut flooded: Option<mpsc::Sender<First>>,
    ) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&kept);
        let head_bytes = bytes.saturating_sub(TAIL_BYTES);
        let (sender, done) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            let mut total: u64 = 0;
            loop {
                match reader.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => {
                        let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                        kept.push(&buffer[..count], head_bytes);
                        total += count as u64;
                        if total > FLOOD_BYTES
                            && let Some(flooded) = flooded.take()
                        {
                            _ = flooded.send(First::Flood); // it may have ended by now
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            _ = sender.send(());
        });
        Self { kept, done }
    }

    fn finish(self) -> Output {
        // A process outside may have been handed the pipe; then what is there must do.
        _ = self.done.recv_timeout(DRAIN);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { mut head, tail, dropped } = std::mem::take(&mut *kept);
        let tail = Vec::from(tail);
        if dropped == 0 {
            head.extend_from_slice(&tail);
            return Output { head: printable(&head), ..Output::default() };
        }
        Output { head: printable(&head), dropped_bytes: dropped, tail: printable(&tail) }
    }
}

/// Text that cannot move the cursor, change colours or claim to be the checker's: without escape
/// sequences and control characters; and without the number of the thread that panicked, which is
/// another one in every run.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\x1b' => {
                // CSI … final byte; anything else is dropped as a single character.
                if chars.next_if_eq(&'[').is_some() {
                    for c in chars.by_ref() {
                        if ('@'..='~').contains(&c) {
                            break;
                        }
                    }
                }
            }
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
        .split_inclusive('\n')
        .map(|line| match panicking_thread(line) {
            Some((before, after)) => format!("{before}{after}"),
            None => line.to_owned(),
        })
        .collect()
}

/// Splits `thread 'main' (123) panicked at …` around the number, and the same of a stack that
/// overflowed.
fn panicking_thread(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("thread '")?;
    let at = [") panicked at ", ") has overflowed its stack"];
    let at = at.iter().find_map(|it| rest.find(it))?;
    let open = rest[..at].rfind(" (")?;
    rest[open + 2..at].bytes().all(|b| b.is_ascii_digit()).then(|| {
        let open = "thread '".len() + open;
        (&line[..open], &line["thread '".len() + at + 1..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_find_children_find_the_same() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("a child");
        let pid = child.id() as libc::pid_t;
        assert!(has_children());
        assert!(children_of_all().contains(&pid));
        // Where the kernel lists none, the other way is the only one.
        assert!(listed_children().is_none_or(|listed| listed.contains(&pid)));
        assert!(children().contains(&pid));
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert!(!children().contains(&pid));
    }

    #[test]
    fn the_number_of_the_panicking_thread_is_left_out() {
        assert_eq!(
            printable(b"thread 'main' (4711) panicked at src/lib.rs:3:5:\nno\n"),
            "thread 'main' panicked at src/lib.rs:3:5:\nno\n"
        );
        assert_eq!(
            printable(b"thread 'main' (2) has overflowed its stack\n"),
            "thread 'main' has overflowed its stack\n"
        );
        assert_eq!(printable(b"thread 'a (1) b' panicked at x"), "thread 'a (1) b' panicked at x");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(printable(b"\x1b[31mred\x1b[0m\r\x07\tok\n"), "red\tok\n");
        assert_eq!(printable(b"cut \x1b[3"), "cut ");
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let mut kept = Kept::default();
        for n in 0..10_000 {
            kept.push(format!("line {n}\n").as_bytes(), 16);
        }
        assert_eq!(kept.head, b"line 0\nline 1\nli");
        assert_eq!(kept.tail.len(), TAIL_BYTES);
        assert!(Vec::from(kept.tail.clone()).ends_with(b"line 9999\n"));
        let all: usize = (0..10_000).map(|n| format!("line {n}\n").len()).sum();
        assert_eq!(16 + TAIL_BYTES + kept.dropped as usize, all);
    }
}
