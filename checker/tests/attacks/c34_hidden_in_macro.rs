//! C34: the attribute comes out of a macro

use lab::Result;
use lab::first_launch::Session;

macro_rules! export {
    ($attribute:ident, $name:ident) => {
        #[unsafe($attribute)]
        pub extern "C" fn $name(_: i32) {
            std::process::abort();
        }
    };
}

export!(no_mangle, usleep);

@HONEST@