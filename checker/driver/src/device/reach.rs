//! This process's own memory, at addresses that the program names: they may be wrong.
//!
//! The operating system's kernel does the copy, since it reports where there is no memory. A copy
//! of our own would be the end of the process, without a word about the call.

use std::ffi::c_void;

use simulator::machine::NotMapped;

/// `process_vm_readv` or `process_vm_writev`.
type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// Copies what is at `address`.
pub(super) fn read(address: u64, bytes: &mut [u8]) -> Result<(), NotMapped> {
    let (ours, length) = (bytes.as_mut_ptr(), bytes.len());
    match transfer(libc::process_vm_readv, ours, address, length) {
        // SAFETY: the program says that this memory is there, as it does to a real driver.
        None => unsafe {
            std::ptr::copy_nonoverlapping(address as *const u8, ours, length);
            Ok(())
        },
        Some(done) => done,
    }
}

/// Copies to `address`.
pub(super) fn write(address: u64, bytes: &[u8]) -> Result<(), NotMapped> {
    let (ours, length) = (bytes.as_ptr().cast_mut(), bytes.len());
    match transfer(libc::process_vm_writev, ours, address, length) {
        // SAFETY: as above.
        None => unsafe {
            std::ptr::copy_nonoverlapping(ours.cast_const(), address as *mut u8, length);
            Ok(())
        },
        Some(done) => done,
    }
}

/// None if the kernel does not do it: not in this system, or not in this sandbox.
fn transfer(
    by: Transfer,
    ours: *mut u8,
    address: u64,
    length: usize,
) -> Option<Result<(), NotMapped>> {
    let mut done = 0;
    while done < length {
        // SAFETY: `done` is less than the length of our own memory.
        let local = unsafe { ours.add(done) };
        let local = libc::iovec { iov_base: local.cast(), iov_len: length - done };
        let there = address.wrapping_add(done as u64) as *mut c_void;
        let remote = libc::iovec { iov_base: there, iov_len: length - done };
        // SAFETY: our own memory is valid for the length; whether the other is, the kernel finds
        // out.
        let moved = unsafe { by(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
        match moved {
            1.. => done += moved as usize,
            0 => return Some(Err(NotMapped)),
            _ => {
                let missing = matches!(errno(), libc::EPERM | libc::ENOSYS | libc::EACCES);
                return (!missing).then_some(Err(NotMapped));
            }
        }
    }
    Some(Ok(()))
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
