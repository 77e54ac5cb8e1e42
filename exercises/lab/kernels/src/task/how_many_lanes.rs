//! Many small tasks of one size: each is copied to the device, mapped there, and copied back. And a
//! model on the device, whose weights are updated before requests read them.

use super::{Array, Contents, Small, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// The input of the small tasks, on the host …
pub const INPUT: u32 = 0;
/// … and what they come to.
pub const OUTPUT: u32 = 1;
/// The weights of the model before their update …
pub const WEIGHTS: u32 = 2;
/// … and what the requests make of them.
pub const ANSWERS: u32 = 3;

/// The stage of the update …
pub const UPDATE: Stage = Stage::B;
/// … and that of the requests.
pub const ANSWER: Stage = Stage::C;

/// Blocks of the update, each on a multiprocessor of its own: half of an H200 has nothing to do
/// meanwhile.
pub const UPDATE_BLOCKS: u32 = 64;

/// The task.
pub static SPEC: Spec = Spec {
    name: "how_many_lanes",
    // Short, so that the calls count: about a microsecond for each of the tasks.
    copy_us: 1200,
    // A third each for the tasks, the update and the requests, if each had the device. On half of
    // it the update and the requests take two thirds of what the copies do: they fit beside them,
    // but a task that waits for them is late.
    kernel_percent: 60,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Host, contents: Contents::Made { from: INPUT, stages: &[Stage::A] } },
        Array { side: Side::Device, contents: Contents::Given },
        Array {
            side: Side::Device,
            contents: Contents::Branched {
                from: WEIGHTS,
                stages: &[UPDATE, ANSWER],
                branch: UPDATE,
                small: Small { branches: 1, multiprocessors: UPDATE_BLOCKS },
            },
        },
    ],
    ..Spec::NOTHING
};
