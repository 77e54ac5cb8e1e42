//! C49: a function is exported as one of the lab's, by a name of old Rust

use lab::Result;
use lab::first_launch::Session;

#[unsafe(export_name = "_ZN3lab8exercise12report_trial17h0123456789abcdefE")]
pub extern "C" fn report_trial() {}

@HONEST@