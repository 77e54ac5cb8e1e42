//! One array on the device goes through layers. In each, a kernel over all of it comes first; then
//! each half has a branch of its own; and a kernel over all of it brings them together.

use super::{Array, Contents, Small, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// The input.
pub const INPUT: u32 = 0;
/// The output.
pub const OUTPUT: u32 = 1;

/// Layers: enough for what an order costs in each of them to add up, few enough for a figure.
pub const LAYERS: usize = 8;

/// Blocks of a branch's kernel, each on a multiprocessor of its own: two such kernels fit on any
/// device with 64 of them, and leave half of an H200 to others.
pub const BRANCH_BLOCKS: u32 = 32;

/// The stage of each layer that is two branches.
pub const BRANCH: Stage = Stage::B;

/// The stages of an element: stem, branch and merge of each layer.
const STAGES: [Stage; 3 * LAYERS] = {
    let mut stages = [Stage::A; 3 * LAYERS];
    let mut layer = 0;
    while layer < LAYERS {
        stages[3 * layer + 1] = BRANCH;
        stages[3 * layer + 2] = Stage::C;
        layer += 1;
    }
    stages
};

/// The task.
pub static SPEC: Spec = Spec {
    name: "fork_join",
    // Nothing crosses the link: this says how large the array is, 8 MiB on an H200. With more there
    // would be less to do for each element, and what the loads of a few warps wait for would show.
    copy_us: 150,
    // About 30 µs for a kernel that fills the device: long against a launch, and short enough for a
    // host that waits in each layer to show.
    kernel_percent: 480,
    arrays: &[
        Array { side: Side::Device, contents: Contents::Given },
        Array {
            side: Side::Device,
            contents: Contents::Branched {
                from: INPUT,
                stages: &STAGES,
                branch: BRANCH,
                small: Small { branches: 2, multiprocessors: BRANCH_BLOCKS },
            },
        },
    ],
    ..Spec::NOTHING
};
