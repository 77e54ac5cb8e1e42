//! Two arrays that have nothing to do with one another: one is copied to the device, one is mapped
//! where it is.

use super::{Array, Contents, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// On the host, to be copied …
pub const FRESH: u32 = 0;
/// … and where it goes.
pub const ARRIVED: u32 = 1;
/// On the device, to be mapped in place: what it is before …
pub const RESIDENT: u32 = 2;
/// … and after.
pub const MAPPED: u32 = 3;

/// The task.
pub static SPEC: Spec = Spec {
    name: "two_streams",
    // Long against the cost of any call. The kernels are the shorter half, so that "half the time"
    // and "the time of the longer" are two answers. And a program that waits for the kernels alone
    // at the end has not waited for everything.
    copy_us: 4800,
    kernel_percent: 60,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Device, contents: Contents::Made { from: FRESH, stages: &[] } },
        Array { side: Side::Device, contents: Contents::Given },
        Array {
            side: Side::Device,
            contents: Contents::Made { from: RESIDENT, stages: &[Stage::A] },
        },
    ],
    ..Spec::NOTHING
};
