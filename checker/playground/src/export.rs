//! The interface of the wasm to the page's script: memory to write a request into, and the answer.
//!
//! A request is the id for the drawing, a line break, and a text in UTF-8: a setting in the form of
//! an address, or a program (see [`Begun`]). There is no other state: each request is answered from
//! itself alone, in two halves. So memory is handed out in one direction only, and all of it is
//! free again when the next request comes.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::Begun;

/// The id of a request, and its runs.
type Asked = (&'static str, Begun<'static>);

/// Pages of wasm memory, in bytes.
const PAGE: usize = 1 << 16;

/// The first byte that is free; 0 before the first allocation.
static FREE: AtomicUsize = AtomicUsize::new(0);
/// The first byte that was ever handed out.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Hands out memory and takes none back before the next request. A general allocator would be a
/// fifth of the wasm.
struct Arena;

// SAFETY: each block lies after all that were handed out since the last request, inside memory
// that exists; nothing of a request outlives it. wasm has one thread.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut free = FREE.load(Relaxed);
        if free == 0 {
            // What lies in memory before this belongs to the program itself.
            free = core::arch::wasm32::memory_size(0) * PAGE;
            FIRST.store(free, Relaxed);
        }
        let start = free.next_multiple_of(layout.align());
        let end = start + layout.size();
        let missing = end.saturating_sub(core::arch::wasm32::memory_size(0) * PAGE);
        if missing > 0 && core::arch::wasm32::memory_grow(0, missing.div_ceil(PAGE)) == usize::MAX {
            return std::ptr::null_mut();
        }
        FREE.store(end, Relaxed);
        start as *mut u8
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // The last block grows where it is, as a text does while it is written.
        if block as usize + layout.size() == FREE.load(Relaxed) {
            FREE.store(block as usize, Relaxed);
        }
        // SAFETY: the caller vouches for the layout; the copy may overlap only where it is in
        // place.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if new != block && !new.is_null() {
                block.copy_to(new, layout.size().min(bytes));
            }
            new
        }
    }
}

#[global_allocator]
static ARENA: Arena = Arena;

/// Where a request of `bytes` bytes is to be written. All earlier answers are gone.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn request(bytes: usize) -> *mut u8 {
    FREE.store(FIRST.load(Relaxed), Relaxed);
    Vec::leak(vec![0; bytes]).as_mut_ptr()
}

/// Simulates the request of `bytes` bytes at `request`, and gives what [`finish`] draws.
///
/// # Safety
/// `request` came from [`request`] for as many bytes, since when nothing else was asked.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn begin(request: *const u8, bytes: usize) -> *mut Asked {
    // SAFETY: see above; its memory stays until the next request.
    let request = unsafe { std::slice::from_raw_parts(request, bytes) };
    let request = str::from_utf8(request).unwrap_or_default();
    let (id, asked) = request.split_once(['\n']).unwrap_or_default();
    Box::leak(Box::new((id, Begun::new(asked))))
}

/// Draws what was simulated. The answer is as long as the high half of the result says, and lies
/// where the low half says.
///
/// # Safety
/// `asked` came from [`begin`], since when nothing else was asked.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn finish(asked: *const Asked) -> u64 {
    // SAFETY: see above.
    let (id, begun) = unsafe { &*asked };
    let answer = begun.html(id).leak();
    (answer.len() as u64) << 32 | answer.as_ptr() as u64
}
