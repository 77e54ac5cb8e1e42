//! How fast kernels are that are bound by one part of a multiprocessor each.

use kernels::Kernel;
use kernels::pipes::{Pipe, TILE};

use crate::arm::Outcome;
use crate::gpu::{Gpu, MIB, MS, REPETITIONS};
use crate::samples::Samples;

/// Threads of a block: one warp for each of the four schedulers.
const THREADS: usize = 128;
/// Blocks that fill a multiprocessor.
const MOST: usize = 16;
/// Words in and out that no cache holds, and that divide evenly among the threads of all grids here
/// but for few.
const STREAMED: [usize; 3] = [64 * MIB, 128 * MIB, 256 * MIB];

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let (from, to) = (gpu.allocate(4 * STREAMED[2])?, gpu.allocate(4 * STREAMED[2])?);
    for pipe in Pipe::ALL {
        let Some(kernel) = kernels::find(pipe.name()) else { continue };
        let rate = kernel.rate;
        let function = match gpu.kernel(kernel) {
            Ok(function) => function,
            // The product needs compute capability 8.0.
            Err(reason) => {
                samples.keep(format!("{rate}_full_blocks"), Err(reason));
                continue;
            }
        };
        for (key, each) in [("alone", 1), ("full", MOST)] {
            samples.keep(format!("{rate}_{key}_blocks"), Ok(vec![each as i64]));
            let blocks = each * gpu.multiprocessors;
            for (words, rounds) in sizes(pipe, blocks) {
                let units = words as u64 * u64::from(rounds) / blocks as u64;
                samples.take(format!("{rate}_{key}_period_ns/{units}"), times, || {
                    gpu.period(4 * MS, [10, 40], || {
                        let words = gpu.arm.in_memory(words) as u64;
                        let arguments = &mut [from, to, words, rounds.into()];
                        gpu.launch(function, [blocks, THREADS], stream, arguments)
                    })
                });
            }
        }
    }
    Ok(())
}

/// Words and rounds of launches that differ in how much each block does.
fn sizes(pipe: Pipe, blocks: usize) -> Vec<(usize, u32)> {
    let rounds = |words: usize, rounds: [u32; 3]| {
        rounds.iter().map(|&rounds| (blocks * THREADS * words, rounds)).collect()
    };
    match pipe {
        Pipe::Issue => rounds(8, [2048, 4096, 8192]),
        Pipe::Latency => rounds(1, [4096, 8192, 16_384]),
        Pipe::Tensor => rounds(4 * TILE / 32, [512, 1024, 2048]),
        Pipe::Memory => STREAMED.map(|words| (words / blocks * blocks, 1)).into(),
    }
}

/// Words, rounds and blocks of launches that end in every stage of the kernel's loops.
pub(crate) fn shapes(kernel: &Kernel) -> Vec<(usize, u32, usize)> {
    let Some(pipe) = Pipe::ALL.into_iter().find(|it| it.name() == kernel.name) else {
        return Vec::new();
    };
    let most = pipe.most_rounds();
    let shapes = [
        (MIB, 0, 1056),
        (MIB, 1, 132),
        (MIB, 15, 7),
        (MIB - 3, 17, 1000),
        (MIB - 257, 1001, 1056),
        (TILE * 4 + 1, most, 1),
        (1, most, 3),
    ];
    // Without a round nothing is written, and as many as there may be would take seconds.
    let rounds = |rounds: u32| if pipe == Pipe::Memory { rounds.clamp(1, 3) } else { rounds };
    shapes.into_iter().map(|(words, all, blocks)| (words, rounds(all), blocks)).collect()
}
