//! Calls of the lab and the checker beside the driver API.

use std::ffi::{c_char, c_int};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};

use trace::lab_protocol::{Reply, Request};

use crate::say::say;
use crate::{call, device, failed};

/// The id of this build, as a C string. A program that was built against another refuses it.
#[unsafe(no_mangle)]
extern "C" fn swim_build_id() -> *const c_char {
    concat!(env!("SWIM_BUILD_ID"), "\0").as_ptr().cast()
}

/// Takes one [`Request`] and gives one [`Reply`], both as postcard. Returns the length of the
/// reply, or -1 if the request cannot be read or the reply does not fit.
///
/// # Safety
/// `request` points to `length` bytes, `reply` to room for `room` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn swim_call(
    request: *const u8,
    length: usize,
    reply: *mut u8,
    room: usize,
) -> isize {
    // SAFETY: the caller's duty.
    let (request, room) = unsafe {
        (std::slice::from_raw_parts(request, length), std::slice::from_raw_parts_mut(reply, room))
    };
    let Ok(request) = postcard::from_bytes::<Request>(request) else { return -1 };
    let reply: Reply = match request {
        Request::FailedCall { code } => Reply::FailedCall(failed::first(code)),
        request => call::ask(request),
    };
    postcard::to_slice(&reply, room).map_or(-1, |written| written.len() as isize)
}

/// Makes the shared memory for a device process and its student's process: a file descriptor that
/// children inherit, or -1.
#[unsafe(no_mangle)]
extern "C" fn swim_device_memory() -> c_int {
    match device::make_memory() {
        Ok(memory) => memory.into_raw_fd(),
        Err(why) => {
            say(&why);
            -1
        }
    }
}

/// Serves one run on the simulated device over the memory that [`swim_device_memory`] made. Returns
/// 0 when the student's process is gone, 1 if the device could not be made.
#[unsafe(no_mangle)]
extern "C" fn swim_serve(memory: c_int) -> c_int {
    // SAFETY: the caller hands the descriptor over.
    match device::serve(&unsafe { OwnedFd::from_raw_fd(memory) }) {
        Ok(()) => 0,
        Err(why) => {
            say(&why);
            1
        }
    }
}
