//! C39: a module is called `std`

use lab::Result;
use lab::first_launch::Session;

pub mod std {
    pub mod process {
        pub fn exit(_: i32) -> ! {
            loop {}
        }
    }
}

@HONEST@