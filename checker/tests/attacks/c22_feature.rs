//! C22: a feature of unstable Rust

#![feature(rustc_attrs)]

use lab::Result;
use lab::first_launch::Session;

@HONEST@