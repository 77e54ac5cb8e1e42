//! C31: the clock is replaced

use lab::Result;
use lab::first_launch::Session;

#[unsafe(no_mangle)]
pub extern "C" fn clock_gettime(_: i32, time: *mut [i64; 2]) -> i32 {
    // SAFETY: the caller says so.
    unsafe { *time = [0, 0] };
    0
}

@HONEST@