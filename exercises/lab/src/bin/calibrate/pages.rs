//! Ordinary host memory that has been touched, by pages: the allocator would hand out what a former
//! measurement left in the caches.

use std::ptr;

use trace::lab_protocol::{Region, Request};

use crate::arm::Arm;
use crate::arm::Outcome;
use crate::gpu::{Gpu, MIB};

/// More than the caches of a processor hold.
const CACHES: usize = 256 * MIB;

/// Memory that empties the host's caches.
pub(crate) struct Caches(Pages);

impl Caches {
    pub(crate) fn new(gpu: &Gpu) -> Outcome<Self> {
        Pages::new(gpu.arm.in_memory(CACHES)).map(Self)
    }

    /// Has the host work on other memory, as before a program's region, and then wait for the
    /// device.
    ///
    /// The simulated device has no caches: a region that begins tells it that they are empty.
    pub(crate) fn empty(&self, gpu: &Gpu) -> Outcome<()> {
        gpu.idle()?;
        self.0.touch();
        if gpu.arm == Arm::Simulated {
            let region = Region { name: "caches".to_owned(), ..Region::default() };
            for request in [Request::RegionBegin(region), Request::RegionEnd] {
                lab::driver::ask(&request).map_err(|error| error.to_string())?;
            }
        }
        gpu.idle()
    }
}

/// So many bytes.
pub(crate) struct Pages {
    pointer: *mut u8,
    bytes: usize,
}

impl Pages {
    pub(crate) fn new(bytes: usize) -> Outcome<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the kernel chooses the address.
        let pointer = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if pointer == libc::MAP_FAILED {
            return Err(format!("cannot map {bytes} bytes"));
        }
        let pages = Self { pointer: pointer.cast(), bytes };
        pages.touch();
        Ok(pages)
    }

    /// Writes all of it, which drives everything else out of the caches.
    pub(crate) fn touch(&self) {
        // SAFETY: the mapping is that long, and a caller that shares it with the device has waited.
        unsafe { self.pointer.write_bytes(1, self.bytes) };
    }

    /// The address of a block of `bytes` that starts at `offset`, or at the beginning if it would
    /// not fit there.
    pub(crate) fn block(&self, offset: usize, bytes: usize) -> *mut u8 {
        let offset = if offset + bytes > self.bytes { 0 } else { offset };
        self.pointer.wrapping_add(offset)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no copy from or to it is pending.
        unsafe { libc::munmap(self.pointer.cast(), self.bytes) };
    }
}
