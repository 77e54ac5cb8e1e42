//! C23: the file says that it is a program

#![crate_type = "bin"]
#![no_main]

use lab::Result;
use lab::first_launch::Session;

@HONEST@