//! Locks that outlive a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, even if another thread panicked while it had the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in here is a bug of ours that has been reported; the state is still worth reading.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
