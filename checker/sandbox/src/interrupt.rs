//! Ctrl-C and its kin, and a newer save while a run is on: what was started is ended before
//! anything else goes on.

use std::fmt;
use std::io::PipeWriter;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};

/// The signal that arrived; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The target to kill when one does, as `kill` takes it: a process, or minus a group, or 0.
static TARGET: AtomicI32 = AtomicI32::new(0);
/// How much the outcome of the present run is wanted: an [`Interest`].
static INTEREST: AtomicU8 = AtomicU8::new(Interest::Present as u8);
/// Whether the target is killed as soon as a newer run waits.
static YIELDS: AtomicBool = AtomicBool::new(false);
/// Where a byte is written when a signal arrives, by a checker that stays; -1 where it does not.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// The signals that ask a program to end.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Whether a target goes on when the outcome is not waited for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superseded {
    /// Its work need not be done again.
    Finishes,
    /// It may never end by itself.
    Yields,
}

/// How much the outcome of a run is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Interest {
    /// It is waited for.
    Present,
    /// A newer run waits for its end.
    Newer,
    /// Nothing comes after it any more.
    None,
}

impl Interest {
    fn now() -> Self {
        match INTEREST.load(Ordering::SeqCst) {
            0 => Self::Present,
            1 => Self::Newer,
            _ => Self::None,
        }
    }

    /// Whether a target is of no use any more.
    fn kills(self, superseded: Superseded) -> bool {
        match self {
            Self::Present => false,
            Self::Newer => superseded == Superseded::Yields,
            Self::None => true,
        }
    }
}

/// While it lives, a signal that asks the checker to end kills the target, if there is one yet, and
/// is remembered.
#[derive(Debug)]
#[must_use = "dropping it restores the default"]
pub struct Guard(());

/// Remembers from now on that the checker is asked to end. Taken before a target starts: a signal
/// between its start and [`Guard::kills`] would otherwise end the checker and leave the target.
pub fn guard() -> Guard {
    handle(remember as *const () as libc::sighandler_t);
    Guard(())
}

impl Guard {
    /// Kills `target` (minus the number of a process group, or a process) when the checker is asked
    /// to end, and at once if it has been.
    pub fn kills(&self, target: libc::pid_t, superseded: Superseded) {
        YIELDS.store(superseded == Superseded::Yields, Ordering::SeqCst);
        TARGET.store(target, Ordering::SeqCst);
        if SIGNAL.load(Ordering::SeqCst) != 0 || Interest::now().kills(superseded) {
            kill(target);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        TARGET.store(0, Ordering::SeqCst);
        if WAKE.load(Ordering::SeqCst) < 0 {
            handle(libc::SIG_DFL);
        }
    }
}

/// From now on a signal ends nothing by itself: it kills the target, is remembered, and a byte goes
/// into `wake` for a reader that takes care of the rest.
pub fn stay(wake: PipeWriter) {
    // A signal handler must not wait for room: one byte is as good as a thousand.
    // SAFETY: a plain call on a descriptor of our own.
    unsafe { libc::fcntl(wake.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    WAKE.store(wake.into_raw_fd(), Ordering::SeqCst);
    handle(remember as *const () as libc::sighandler_t);
}

/// Fails once a signal has arrived, or the run is of no interest any more.
pub fn check() -> Result<(), Interrupted> {
    match SIGNAL.load(Ordering::SeqCst) {
        0 if Interest::now() == Interest::Present => Ok(()),
        0 => Err(Interrupted { signal: None }),
        signal => Err(Interrupted { signal: Some(signal) }),
    }
}

/// Ends the present run early: its outcome is of no interest any more.
pub fn supersede() {
    INTEREST.fetch_max(Interest::Newer as u8, Ordering::SeqCst);
    if YIELDS.load(Ordering::SeqCst) {
        kill(TARGET.load(Ordering::SeqCst));
    }
}

/// Lets the next run begin, unless it is the end.
pub fn begin() {
    let (newer, present) = (Interest::Newer as u8, Interest::Present as u8);
    _ = INTEREST.compare_exchange(newer, present, Ordering::SeqCst, Ordering::SeqCst);
}

/// Ends the present run whatever it is at, and whatever it would have begun.
pub fn end() {
    INTEREST.store(Interest::None as u8, Ordering::SeqCst);
    kill(TARGET.load(Ordering::SeqCst));
}

extern "C" fn remember(signal: libc::c_int) {
    // Atomics, `kill` and `write` are all that a signal handler may safely use.
    SIGNAL.store(signal, Ordering::SeqCst);
    kill(TARGET.load(Ordering::SeqCst));
    let wake = WAKE.load(Ordering::SeqCst);
    if wake >= 0 {
        // SAFETY: one byte of a static is read; a full pipe is no reason to wait.
        unsafe { libc::write(wake, (&raw const BYTE).cast(), 1) };
    }
}

/// The byte that goes through the pipe.
static BYTE: u8 = 0;

fn kill(target: libc::pid_t) {
    if target != 0 {
        // SAFETY: no memory is involved; the target is a child of ours or its group.
        unsafe { libc::kill(target, libc::SIGKILL) };
    }
}

fn handle(action: libc::sighandler_t) {
    for signal in ENDING {
        // SAFETY: the action is the default or `remember`, which is safe in a handler.
        unsafe { libc::signal(signal, action) };
    }
}

/// The checker was asked to end, or the run to make room for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    signal: Option<libc::c_int>,
}

impl Interrupted {
    /// Ends this process by the signal that it was asked to end by, so that a shell sees it.
    pub fn raise_again(self) {
        let Some(signal) = self.signal else { return };
        handle(libc::SIG_DFL);
        // SAFETY: no memory is involved.
        unsafe { libc::raise(signal) };
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.signal {
            Some(signal) => write!(f, "interrupted by signal {signal}"),
            None => f.write_str("nobody waits for it any more"),
        }
    }
}

impl std::error::Error for Interrupted {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_between_a_targets_start_and_its_guard_ends_the_target_and_not_the_checker() {
        // SAFETY: the processes that are forked make system calls alone, and use atomics.
        unsafe {
            let checker = libc::fork();
            if checker == 0 {
                let guard = guard();
                let target = libc::fork();
                if target == 0 {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL); // however the test ends
                    loop {
                        libc::pause();
                    }
                }
                libc::raise(libc::SIGTERM);
                guard.kills(target, Superseded::Yields);
                libc::_exit(signal_of(target));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(checker, &raw mut status, 0), checker);
            assert!(libc::WIFEXITED(status), "{status:x}");
            assert_eq!(libc::WEXITSTATUS(status), libc::SIGKILL);
        }
    }

    /// The signal that a child is ended by.
    fn signal_of(child: libc::pid_t) -> libc::c_int {
        let mut status = 0;
        // SAFETY: the status is there to be written.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        libc::WTERMSIG(status)
    }

    #[test]
    fn a_newer_run_waits_for_what_finishes_and_the_end_for_nothing() {
        use Superseded::{Finishes, Yields};
        let killed = |interest: Interest| [Finishes, Yields].map(|it| interest.kills(it));
        assert_eq!(killed(Interest::Present), [false, false]);
        assert_eq!(killed(Interest::Newer), [false, true]);
        assert_eq!(killed(Interest::None), [true, true]);
    }
}
