//! C25: a library that is not there is to be linked in

use lab::Result;
use lab::first_launch::Session;

#[link(name = "evil", kind = "static")]
unsafe extern "C" {}

@HONEST@