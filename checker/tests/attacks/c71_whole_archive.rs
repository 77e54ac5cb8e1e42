//! C71: the file as a library of objects, of which all are linked in

use lab::Result;
use lab::first_launch::Session;

#[link(name = "lib.rs", kind = "static", modifiers = "+verbatim,+whole-archive,-bundle")]
unsafe extern "C" {}

@HONEST@