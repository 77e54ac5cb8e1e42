//! C24: the file says that it is another crate

#![crate_name = "evil"]

use lab::Result;
use lab::first_launch::Session;

@HONEST@