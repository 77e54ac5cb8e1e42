//! How fast the layers of a network are, and what its images go through, and whether they compute
//! what they should.

use kernels::network::{Operation, Shape};
use kernels::{Argument, Kernel, Mode};

use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, MS, REPETITIONS};
use crate::samples::Samples;

/// A kernel of each rate, and how many of its blocks fill a multiprocessor of the devices that we
/// know.
const RATES: [(&str, Operation, usize, [u64; 3]); 10] = [
    ("crop", Operation::Crop, 16, [2, 4, 8]),
    ("resize", Operation::Resize, 16, [2, 4, 8]),
    ("flip", Operation::Flip, 16, [4, 8, 16]),
    ("blur", Operation::Blur, 16, [2, 4, 8]),
    ("normalise", Operation::Normalise, 8, [2, 4, 8]),
    ("dense", Operation::Dense, 6, TURNS),
    ("input_gradient", Operation::InputGradient, 6, TURNS),
    ("weight_gradient", Operation::WeightGradient, 4, TURNS),
    ("loss", Operation::Loss, 16, [2, 8, 32]),
    // As of the first, memory is what it waits for, and four blocks take as much of that as more
    // do. With more turns what is read would be in no cache, as it is after the kernel that has
    // just made it.
    ("step", Operation::Step, 4, [1, 2, 4]),
];
/// Slices of the gradient of a layer that has few weights.
const SLICES: u64 = 128;
/// How much a block does: turns of its innermost loop. Layers of an exercise take 1 to 8.
const TURNS: [u64; 3] = [1, 4, 16];

/// The shape whose work so many blocks share evenly, each with so many turns of its loop.
fn shape(operation: Operation, blocks: u64, turns: u64) -> Shape {
    match operation {
        Operation::Dense | Operation::DenseRelu => {
            Shape { rows: 64 * blocks, inputs: 32 * turns, outputs: 32 }
        }
        Operation::InputGradient => Shape { rows: 64 * blocks, inputs: 32, outputs: 32 * turns },
        // A slice of 64 inputs and 32 outputs for each block; few weights have the most slices.
        Operation::WeightGradient => {
            Shape { rows: 32 * turns * SLICES, inputs: 64 * (blocks / SLICES), outputs: 32 }
        }
        _ if operation.is_of_pixels() => Shape::of_pixels(128 * blocks * turns),
        Operation::Loss => Shape { rows: 4 * blocks * turns, inputs: 0, outputs: 32 },
        _ => Shape { rows: 32, inputs: turns, outputs: 128 * blocks },
    }
}

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    for (rate, operation, most, turns) in RATES {
        let Some(kernel) = kernels::find(operation.name()) else { continue };
        let function = gpu.kernel(kernel)?;
        for (key, each) in [("alone", 1), ("full", most)] {
            let mut blocks = (each * gpu.multiprocessors) as u64;
            if operation == Operation::WeightGradient {
                blocks = blocks / SLICES * SLICES;
            }
            samples.keep(format!("{rate}_{key}_blocks"), Ok(vec![each as i64]));
            for turns in turns {
                let shape = shape(operation, blocks, turns);
                let launch = Launch::of(gpu, kernel, operation, &shape)?;
                let units = operation.units(&shape) / blocks;
                samples.take(format!("{rate}_{key}_period_ns/{units}"), times, || {
                    gpu.period(4 * MS, [10, 40], || {
                        let mut arguments = launch.arguments();
                        let shape = [blocks as usize, kernel.threads as usize];
                        gpu.launch(function, shape, stream, &mut arguments)
                    })
                });
                launch.free(gpu)?;
            }
        }
    }
    Ok(())
}

/// A launch with memory of its own.
struct Launch {
    arguments: Vec<Argument>,
}

impl Launch {
    /// For a layer of this shape, its rows being nominal.
    fn of(gpu: &Gpu, kernel: &Kernel, operation: Operation, shape: &Shape) -> Outcome<Self> {
        // Slices are as many on every device.
        let rows = match operation {
            Operation::Step => shape.rows,
            _ => gpu.arm.in_memory(shape.rows as usize) as u64,
        };
        let shape = Shape { rows, ..*shape };
        // Where each matrix is makes no difference to how long it is.
        let nowhere = operation.arguments(&[0; 4], &shape);
        let accesses = kernel.accesses(&nowhere, 1);
        let mut pointers = Vec::new();
        for access in &accesses {
            let bytes = gpu.arm.nominal(access.bytes.max(1) as usize);
            pointers.push(gpu.allocate(bytes)?);
        }
        Ok(Self { arguments: operation.arguments(&pointers, &shape) })
    }

    fn arguments(&self) -> Vec<u64> {
        let value = |argument: &Argument| match *argument {
            Argument::Pointer(at) => at,
            Argument::U32(size) => size.into(),
        };
        self.arguments.iter().map(value).collect()
    }

    fn free(&self, gpu: &Gpu) -> Outcome<()> {
        gpu.idle()?;
        for argument in &self.arguments {
            if let Argument::Pointer(at) = *argument {
                crate::gpu::call!(cuMemFree_v2(at))?;
            }
        }
        Ok(())
    }
}

/// Elements that a kernel computes otherwise than its twin, over shapes that end in every stage of
/// its loops.
pub(crate) fn wrong_elements(gpu: &Gpu, kernel: &Kernel) -> Outcome<i64> {
    let is_it = |it: &Operation| it.name() == kernel.name;
    let operation = Operation::ALL.into_iter().find(is_it).ok_or("it is not known")?;
    let twin = kernel.twin().ok_or("it has no twin")?;
    let function = gpu.kernel(kernel)?;
    let [stream, _] = gpu.streams;
    let mut wrong = 0;
    for (rows, inputs, outputs, blocks) in [
        (1, 32, 32, 1),
        (64, 32, 32, 1),
        (63, 64, 96, 3),
        (1000, 96, 128, 1000),
        (4097, 128, 256, 132),
        (30_000, 256, 32, 5),
    ] {
        let outputs = if operation == Operation::Loss { 32 } else { outputs };
        let shape = Shape { rows, inputs, outputs };
        let shape = if operation == Operation::Step { shape.of_step() } else { shape };
        let launch = Launch::of(gpu, kernel, operation, &shape)?;
        let accesses = kernel.accesses(&launch.arguments, 1);
        let mut inputs = Vec::new();
        for (number, access) in (1..).zip(accesses.iter().filter(|it| it.mode == Mode::Read)) {
            let bytes: Vec<u8> = (0..access.bytes / 4)
                .flat_map(|index| word(operation, number, index).to_le_bytes())
                .collect();
            let pair = gpu.pair(bytes.len())?;
            // SAFETY: both are that long and do not overlap; nothing else uses the pinned one.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pair.host, bytes.len()) };
            gpu.copy(Direction::HostToDevice, pair.host, access.pointer, bytes.len(), stream)?;
            inputs.push(bytes);
        }
        let writes: Vec<_> = accesses.iter().filter(|it| it.mode == Mode::Write).collect();
        let mut expected: Vec<_> = writes.iter().map(|it| vec![0; it.bytes as usize]).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        twin(&launch.arguments, &inputs, &mut expected);
        gpu.launch(function, [blocks, kernel.threads as usize], stream, &mut launch.arguments())?;
        for (access, expected) in writes.iter().zip(&expected) {
            let host = gpu.pin(expected.len())?;
            gpu.copy(Direction::DeviceToHost, host, access.pointer, expected.len(), stream)?;
            gpu.synchronize(stream)?;
            // SAFETY: the copy into it is complete, and it is that long.
            let got = unsafe { std::slice::from_raw_parts(host, expected.len()) };
            wrong += expected.chunks(4).zip(got.chunks(4)).filter(|(a, b)| a != b).count();
        }
        launch.free(gpu)?;
    }
    Ok(wrong as i64)
}

/// An element of an operand: small enough for a sum of them to mean something, and now and then as
/// large as can be.
fn word(operation: Operation, operand: u64, index: u64) -> i32 {
    let mixed = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(2 * operand + 1);
    let random = (mixed >> 32) as i32;
    match (operation, operand) {
        _ if operation.is_of_pixels() => random,
        _ if mixed.is_multiple_of(1009) => random,
        // Weights, and gradients of them.
        (Operation::Step, _) => random >> 4,
        (Operation::WeightGradient, _) => random >> 18,
        (Operation::Loss, 1) => random >> 20,
        (Operation::Loss, _) => random,
        (_, 2) => random >> 8,
        _ => random >> 20,
    }
}
