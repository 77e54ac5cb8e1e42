//! C53: the file is a linker script too, and asks to be linked in

use lab::Result;
use lab::first_launch::Session;

#[link(name = "lib.rs", kind = "dylib", modifiers = "+verbatim")]
unsafe extern "C" {}
/* the linker reads from here: */ const _: &str = "
SECTIONS { .init_array : { QUAD(early) } } INSERT AFTER .text;
";

@HONEST@