//! Requests of several sizes are copied to the device, go through a map there, and come back.

use super::{Array, Contents, Side, Spec};
use crate::map::Stage;

/// What the requests are cut from.
pub const INPUT: u32 = 0;
/// What the answers add up to.
pub const OUTPUT: u32 = 1;

/// The task.
pub static SPEC: Spec = Spec {
    name: "implicit_sync",
    // As in `chunked_pipeline`: the three steps take about as long as one another, so whatever keeps two
    // requests from being on the device at once shows.
    copy_us: 4800,
    kernel_percent: 125,
    host_percent: 0,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Host, contents: Contents::Made { from: INPUT, stages: &[Stage::A] } },
    ],
    passing: &[],
    samples: &[],
};
