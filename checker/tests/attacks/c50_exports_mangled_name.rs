//! C50: a function is exported as one of another crate's

use lab::Result;
use lab::first_launch::Session;

#[unsafe(export_name = "_RNvCs1_3lab9host_work")]
pub extern "C" fn host_work() {}

@HONEST@