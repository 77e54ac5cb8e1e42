//! C28: what the C library does before `main` is replaced

use lab::Result;
use lab::first_launch::Session;

#[unsafe(no_mangle)]
pub extern "C" fn __libc_start_main() -> i32 {
    0
}

@HONEST@