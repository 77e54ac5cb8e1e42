//! WRITE: what arrays there are, and what becomes of them.

use super::{Array, Contents, Side, Spec};
use crate::map::Stage;

/// What goes in.
pub const INPUT: u32 = 0;
/// What comes out.
pub const OUTPUT: u32 = 1;

/// The task.
pub static SPEC: Spec = Spec {
    name: "chapter_name",
    // WRITE: why this long, and why these ratios: all engines should matter
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
