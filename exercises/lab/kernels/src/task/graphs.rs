//! Batches are loaded by the host, go up, through a small network with two branches, and down
//! again.

use super::{Array, Contents, Small, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// The elements that are loaded.
pub const INPUT: u32 = 0;
/// The result.
pub const OUTPUT: u32 = 1;

/// Batches: enough for what two graphs cost once to be small against what they save in each.
pub const BATCHES: usize = 128;

/// Layers of each branch.
pub const LAYERS: usize = 8;

/// The stage of a layer.
pub const LAYER: Stage = Stage::B;

/// Blocks of a layer's kernel, and twice as many of those before and after the branches: each
/// thread has four words, and most of the device has nothing to do.
pub const BRANCH_BLOCKS: u32 = 16;

/// The stages of an element: stem, the layers of its branch, and merge.
const STAGES: [Stage; LAYERS + 2] = {
    let mut stages = [LAYER; LAYERS + 2];
    stages[0] = Stage::A;
    stages[LAYERS + 1] = Stage::C;
    stages
};

/// The task.
pub static SPEC: Spec = Spec {
    name: "graphs",
    // 16 MiB on an H200, so a batch has 128 KiB: its copies are short against the calls.
    copy_us: 305,
    // A kernel takes some 3 µs, about as long as its launch.
    kernel_percent: 170,
    // 30 µs for a batch: a little more than the device takes for it where the branches run side by
    // side, and less than it takes the host to issue all of it call by call.
    host_percent: 1270,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array {
            side: Side::Host,
            contents: Contents::Branched {
                from: INPUT,
                stages: &STAGES,
                branch: LAYER,
                small: Small { branches: 2 * BATCHES as u32, multiprocessors: BRANCH_BLOCKS },
            },
        },
    ],
    passing: &[INPUT],
    ..Spec::NOTHING
};
