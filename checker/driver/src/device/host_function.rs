//! Host functions of the student's.

use std::cell::Cell;

use simulator::machine::Touch;

use super::page_faults;

thread_local! {
    /// This thread runs a host function. It must not call the driver, which waits for it.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs one.
pub(crate) fn is_running() -> bool {
    IS_RUNNING.get()
}

/// Runs one, and gives the pinned memory that it used.
pub(super) fn run(function: u64, data: u64) -> Vec<Touch> {
    IS_RUNNING.set(true);
    // SAFETY: the caller of `cuLaunchHostFunc` vouches for both.
    let touches = page_faults::watch_function(|| unsafe {
        let function: unsafe extern "C" fn(u64) = std::mem::transmute(function);
        function(data);
    });
    IS_RUNNING.set(false);
    touches
}
