//! One array, mapped where it is; and beside that the host has work of its own.

use super::{Array, Contents, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// On the device, to be mapped in place: what it is before …
pub const RESIDENT: u32 = 0;
/// … and after.
pub const MAPPED: u32 = 1;

/// The task.
pub static SPEC: Spec = Spec {
    name: "first_launch",
    // Nothing is copied, but this is what sizes an array: long against the cost of any call.
    copy_us: 4800,
    kernel_percent: 125,
    // A little less than the kernels: if the host runs ahead, the device is never idle; if it
    // waits, the run takes almost twice as long.
    host_percent: 112,
    arrays: &[
        Array { side: Side::Device, contents: Contents::Given },
        Array {
            side: Side::Device,
            contents: Contents::Made { from: RESIDENT, stages: &[Stage::A] },
        },
    ],
    ..Spec::NOTHING
};
