//! C35: the allocator is replaced

use lab::Result;
use lab::first_launch::Session;

struct Leaky;

// SAFETY: none: nothing is ever freed.
unsafe impl std::alloc::GlobalAlloc for Leaky {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { std::alloc::System.alloc(layout) }
    }
    unsafe fn dealloc(&self, _: *mut u8, _: std::alloc::Layout) {}
}

#[global_allocator]
static ALLOCATOR: Leaky = Leaky;

@HONEST@