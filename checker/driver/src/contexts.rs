//! The device of each thread's current context, and the contexts of a GPU.

use std::cell::Cell;
use std::sync::Mutex;

use crate::cuda::Handle;
use crate::lock::lock;

/// The contexts of a GPU that were current at some time, each with its device.
static REAL: Mutex<Vec<(Handle, u32)>> = Mutex::new(Vec::new());

thread_local! {
    /// The device of the current context; the first where there is none.
    static DEVICE: Cell<u32> = const { Cell::new(0) };
}

/// The device of this thread's current context, from 0.
pub(crate) fn current_device() -> u32 {
    DEVICE.get()
}

/// Another context is current in this thread: one of this device.
pub(crate) fn set_current_device(device: u32) {
    DEVICE.set(device);
}

/// A context of a GPU is current in this thread.
pub(crate) fn set_current_real(context: Handle, device: u32) {
    DEVICE.set(device);
    let mut known = lock(&REAL);
    if !known.contains(&(context, device)) {
        known.push((context, device));
    }
}

/// The contexts of a GPU that were current at some time.
pub(crate) fn real_contexts() -> Vec<Handle> {
    lock(&REAL).iter().map(|(context, _)| *context).collect()
}
