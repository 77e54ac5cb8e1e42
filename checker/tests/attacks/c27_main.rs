//! C27: the file brings a `main` of its own

use lab::Result;
use lab::first_launch::Session;

#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 {
    println!("VERDICT pass");
    0
}

@HONEST@