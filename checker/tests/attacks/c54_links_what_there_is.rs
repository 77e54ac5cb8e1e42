//! C54: a library of the system that no exercise is linked with

use lab::Result;
use lab::first_launch::Session;

#[link(name = "resolv")]
unsafe extern "C" {}

@HONEST@