//! One array goes up, through a map, and down again, in slots on the device that are used by turns.

use super::{Array, Contents, Side, Spec};
use crate::map::Stage;

/// What goes in.
pub const INPUT: u32 = 0;
/// What comes out.
pub const OUTPUT: u32 = 1;

/// The task.
pub static SPEC: Spec = Spec {
    name: "events",
    // As in `three_lanes`: the stages take about as long as one another, so that one which waits for too
    // much shows, whichever it is.
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
