//! Many small tasks of one size: each is copied to the device, mapped there, and copied back.

use super::{Array, Contents, Side, Spec};
use crate::map::Stage;

/// What goes in.
pub const INPUT: u32 = 0;
/// What comes out.
pub const OUTPUT: u32 = 1;

/// How many tasks there are. Three calls for each of them take the host several times as long as all the work
/// takes the device.
pub const TASKS: usize = 1024;

/// The task.
pub static SPEC: Spec = Spec {
    name: "how_many_lanes",
    // Short, so that the calls count: about a microsecond for each task.
    copy_us: 1200,
    kernel_percent: 125,
    host_percent: 0,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Host, contents: Contents::Made { from: INPUT, stages: &[Stage::A] } },
    ],
    passing: &[],
    samples: &[],
};
