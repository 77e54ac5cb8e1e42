//! One array is copied to the device, mapped there, and copied back, batch by batch and each batch in two halves.

use super::{Array, Contents, Side, Spec};
use crate::map::Stage;

/// What goes in.
pub const INPUT: u32 = 0;
/// What comes out.
pub const OUTPUT: u32 = 1;

/// The task.
pub static SPEC: Spec = Spec {
    name: "wrapper_tracking",
    copy_us: 4800,
    // A little longer than a copy, so that kernels which wait for downloads show.
    kernel_percent: 125,
    host_percent: 0,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Host, contents: Contents::Made { from: INPUT, stages: &[Stage::A] } },
    ],
    passing: &[],
    samples: &[],
};
