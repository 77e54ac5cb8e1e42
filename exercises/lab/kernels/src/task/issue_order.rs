//! One array is copied to the device, mapped, and copied back, by streams that each take whole chunks.

use super::{Array, Contents, Side, Spec};
use crate::map::Stage;

/// What goes in.
pub const INPUT: u32 = 0;
/// What comes out.
pub const OUTPUT: u32 = 1;

/// The task.
pub static SPEC: Spec = Spec {
    name: "issue_order",
    // As in `chunked_pipeline`: the three steps take about as long as one another, so whichever has to wait
    // for its turn shows.
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
