//! Ctrl-C and its kin: what was started is ended before the checker ends.

use std::fmt;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal that arrived; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// What to kill when one does, as `kill` takes it: a process, or minus a group; 0 for nothing.
static TARGET: AtomicI32 = AtomicI32::new(0);

/// The signals that ask a program to end.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// While it lives, a signal that asks the checker to end kills the target and is remembered.
#[derive(Debug)]
#[must_use = "dropping it restores the default"]
pub(crate) struct Guard(());

/// Kills `target` (minus the number of a process group, or a process) when the checker is asked to
/// end.
pub(crate) fn guard(target: libc::pid_t) -> Guard {
    TARGET.store(target, Ordering::SeqCst);
    handle(remember as *const () as libc::sighandler_t);
    if SIGNAL.load(Ordering::SeqCst) != 0 {
        kill(target); // it arrived between two targets
    }
    Guard(())
}

impl Drop for Guard {
    fn drop(&mut self) {
        TARGET.store(0, Ordering::SeqCst);
        handle(libc::SIG_DFL);
    }
}

/// Fails once a signal has arrived.
pub(crate) fn check() -> Result<(), Interrupted> {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => Ok(()),
        signal => Err(Interrupted { signal }),
    }
}

extern "C" fn remember(signal: libc::c_int) {
    // Atomics and `kill` are all that a signal handler may safely use.
    SIGNAL.store(signal, Ordering::SeqCst);
    kill(TARGET.load(Ordering::SeqCst));
}

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

/// The checker was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interrupted {
    signal: libc::c_int,
}

impl Interrupted {
    /// Ends this process by the signal that it was asked to end by, so that a shell sees it.
    pub(crate) fn raise_again(self) {
        handle(libc::SIG_DFL);
        // SAFETY: no memory is involved.
        unsafe { libc::raise(self.signal) };
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted by signal {}", self.signal)
    }
}

impl std::error::Error for Interrupted {}
