//! An array goes up and through a map, and stays on the device. A few elements of each part
//! return.

use super::{Array, Contents, Length, Sample, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// The input.
pub const INPUT: u32 = 0;
/// The result. What returns is a small part of this, so that the way down takes no time
/// worth counting.
pub const OUTPUT: u32 = 1;

/// Parts of the batch: enough for the first copy, beside which no kernel can run, to hardly show.
pub const PARTS: u64 = 16;
/// Samples in a part, each with a label of 64 bytes and a loss of 4.
pub const SAMPLES: u64 = 1024;
/// Words of the labels of a part, which come first: 64 KiB, which a driver takes over at once,
/// whatever memory they are in. The losses are made of the words after them.
pub const LABELS: u64 = 16 * SAMPLES;

/// The task.
pub static SPEC: Spec = Spec {
    name: "pinned_memory",
    // As in `three_lanes`: the way up and the kernels take about as long as each other, so that
    // what is not hidden shows.
    copy_us: 4800,
    kernel_percent: 125,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Device, contents: Contents::Made { from: INPUT, stages: &[Stage::A] } },
    ],
    samples: &[Sample {
        array: OUTPUT,
        pieces: PARTS,
        first: LABELS,
        length: Length::Elements(SAMPLES),
    }],
    ..Spec::NOTHING
};
