//! Two devices have an array in four parts each. Three stay: the inside. The fourth is the edge: in
//! each step a kernel works on it, and then it goes to the other device, where the next step finds
//! it.

use super::{Array, Between, Contents, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// Steps: an even number, so that each edge is where it came from at the end, and enough for what
/// comes before the first and after the last copy to be a small part.
pub const STEPS: usize = 12;

/// Arrays of the inside of each device, one after the other in memory.
pub const INSIDES: usize = 3;

/// The stages of the kernels of the two devices.
pub const STAGES: [Stage; 2] = [Stage::A, Stage::B];

/// The given arrays of a device: its edge, and then its inside.
#[must_use]
pub const fn given(device: usize) -> u32 {
    (device * (1 + INSIDES)) as u32
}

/// The results of them, in the same order.
#[must_use]
pub const fn made(device: usize) -> u32 {
    given(2) + given(device)
}

/// The stages of an edge that begins on this device.
const fn in_turn(device: usize) -> [Stage; STEPS] {
    let mut stages = [STAGES[device]; STEPS];
    let mut step = 1;
    while step < STEPS {
        stages[step] = STAGES[1 - device];
        step += 2;
    }
    stages
}

static IN_TURN: [[Stage; STEPS]; 2] = [in_turn(0), in_turn(1)];
static IN_PLACE: [[Stage; STEPS]; 2] = [[STAGES[0]; STEPS], [STAGES[1]; STEPS]];

const GIVEN: Array = Array { side: Side::Device, contents: Contents::Given };

const fn array(from: u32, stages: &'static [Stage]) -> Array {
    Array { side: Side::Device, contents: Contents::Made { from, stages } }
}

static ARRAYS: [Array; given(2) as usize * 2] = [
    GIVEN,
    GIVEN,
    GIVEN,
    GIVEN,
    GIVEN,
    GIVEN,
    GIVEN,
    GIVEN,
    array(0, &IN_TURN[0]),
    array(1, &IN_PLACE[0]),
    array(2, &IN_PLACE[0]),
    array(3, &IN_PLACE[0]),
    array(4, &IN_TURN[1]),
    array(5, &IN_PLACE[1]),
    array(6, &IN_PLACE[1]),
    array(7, &IN_PLACE[1]),
];

/// The task.
pub static SPEC: Spec = Spec {
    name: "peers",
    // The size of an edge, which crosses no link to the host: 32 MiB on an H200, and some 85 µs
    // between two of them.
    copy_us: 610,
    // 50 µs for an edge and 150 for an inside: more than a copy takes, and to hear of it, so that
    // it can hide all of it.
    kernel_percent: 800,
    arrays: &ARRAYS,
    between: Some(Between { first: STAGES[0], arrays: STEPS as u64 }),
    ..Spec::NOTHING
};
