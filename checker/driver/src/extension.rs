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
/// reply, or -1 if the request cannot be read or the reply does not fit. Of the room for it nothing
/// else is touched.
///
/// # Safety
/// `request` points to `length` bytes, `reply` to room for `room` bytes, written or not.
#[unsafe(no_mangle)]
unsafe extern "C" fn swim_call(
    request: *const u8,
    length: usize,
    reply: *mut u8,
    room: usize,
) -> isize {
    // SAFETY: the caller's duty.
    let request = unsafe { std::slice::from_raw_parts(request, length) };
    let Ok(request) = postcard::from_bytes::<Request>(request) else { return -1 };
    let said: Reply = match request {
        Request::FailedCall { code } => Reply::FailedCall(failed::first(code)),
        request => call::ask(request),
    };
    match postcard::to_stdvec(&said) {
        Ok(said) if said.len() <= room => {
            // SAFETY: there is room for as much.
            unsafe { reply.copy_from_nonoverlapping(said.as_ptr(), said.len()) };
            said.len() as isize
        }
        _ => -1,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_room_for_a_reply_only_the_reply_is_touched() {
        let request = postcard::to_stdvec(&Request::FailedCall { code: 0 }).unwrap();
        let mut room = [0xaa; 4096];
        // SAFETY: both lengths are those of the arrays.
        let length =
            unsafe { swim_call(request.as_ptr(), request.len(), room.as_mut_ptr(), room.len()) };
        let (reply, rest) = room.split_at(usize::try_from(length).unwrap());
        assert!(matches!(postcard::from_bytes(reply), Ok(Reply::FailedCall(None))));
        assert!(rest.iter().all(|byte| *byte == 0xaa));
        // SAFETY: as above.
        let length = unsafe { swim_call(request.as_ptr(), request.len(), room.as_mut_ptr(), 0) };
        assert_eq!(length, -1, "a reply that does not fit");
    }
}
