//! The buffers that CUPTI writes its records into.
//!
//! They are kept and used again. CUPTI clears each one that it is given, in the middle of the
//! program's first call. With 4 MiB that the system has yet to map, the first copy of a region was
//! 0.8 to 1.4 ms late (H200, driver 580.159.04, CUPTI 13.0, 2026-11-21); a warm small buffer costs
//! some µs.

use std::alloc::{Layout, alloc, dealloc};
use std::sync::{Mutex, PoisonError};

/// Some thousand records fit: kernels have the largest, of a quarter of a KiB.
pub(super) const LAYOUT: Layout = match Layout::from_size_align(256 << 10, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is a power of two"),
};

/// Buffers kept at most, 16 MiB: what a long program fills beyond that is freed.
const KEPT: usize = 64;

/// Addresses of those that are not in use.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// One to write to; null where there is no memory.
pub(super) fn take() -> *mut u8 {
    match FREE.lock().unwrap_or_else(PoisonError::into_inner).pop() {
        Some(buffer) => buffer as *mut u8,
        // SAFETY: the layout is not empty.
        None => unsafe { alloc(LAYOUT) },
    }
}

/// Takes one back.
///
/// # Safety
/// It comes from [`take`], and is not used any more.
pub(super) unsafe fn give_back(buffer: *mut u8) {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    if free.len() < KEPT {
        free.push(buffer as usize);
    } else {
        // SAFETY: the caller's duty.
        unsafe { dealloc(buffer, LAYOUT) };
    }
}
