//! Batches are loaded by the host, go up, and through a map. A part of each returns.

use super::{Array, Contents, Length, Sample, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// The elements that are loaded.
pub const INPUT: u32 = 0;
/// The result. What returns is a part of this, so that the way down takes no time worth
/// counting.
pub const OUTPUT: u32 = 1;

/// Batches: so many that the first load, beside which nothing can run, hardly shows.
pub const BATCHES: u64 = 64;
/// Of so many words of a batch one returns as a loss. What returns fills whole pages, so that
/// it is noticed when a copy reads it early.
pub const WORDS_PER_LOSS: u64 = 16;

/// The task.
pub static SPEC: Spec = Spec {
    name: "prefetch",
    copy_us: 4800,
    // As long as loading takes: whichever waits for the other, it shows.
    kernel_percent: 600,
    // Six times as long as the way up: a host that does nothing but write gets there in five.
    host_percent: 600,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Device, contents: Contents::Made { from: INPUT, stages: &[Stage::A] } },
    ],
    passing: &[INPUT, OUTPUT],
    samples: &[Sample {
        array: OUTPUT,
        pieces: BATCHES,
        first: 0,
        length: Length::OneIn(WORDS_PER_LOSS),
    }],
    ..Spec::NOTHING
};
