//! C14: a macro calls itself for ever

#![recursion_limit = "4294967295"]

use lab::Result;
use lab::first_launch::Session;

macro_rules! deeper {
    ($($token:tt)*) => {
        deeper!($($token)* 1)
    };
}

deeper!();

@HONEST@