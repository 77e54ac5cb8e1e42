//! One array is copied to the device, mapped, and copied back.

use super::{Array, Contents, Side, Spec};
use crate::map::Stage;

/// What goes in.
pub const INPUT: u32 = 0;
/// What comes out.
pub const OUTPUT: u32 = 1;

/// The task.
pub static SPEC: Spec = Spec {
    name: "chunked_pipeline",
    // Long against the cost of any call, short enough that a run in real time is over at once.
    copy_us: 4800,
    // A little more than the copies cost while both directions are at work, so that the kernels set
    // the pace, and every stage matters.
    kernel_percent: 125,
    host_percent: 0,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Host, contents: Contents::Made { from: INPUT, stages: &[Stage::A] } },
    ],
    passing: &[],
    samples: &[],
};
