//! C07: a file is to be printed by the compiler itself

use lab::Result;
use lab::first_launch::Session;

const _: () = panic!("{}", include_str!("/etc/passwd"));

@HONEST@