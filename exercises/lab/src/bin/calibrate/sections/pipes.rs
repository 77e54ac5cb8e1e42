//! How fast kernels are that are bound by one part of a multiprocessor each.

use kernels::Kernel;
use kernels::pipes::{Pipe, TILE};

use crate::gpu::{Direction, Gpu, MIB, MS, Outcome, REPETITIONS};
use crate::samples::Samples;

/// Threads of a block: one warp for each of the four schedulers.
const THREADS: usize = 128;
/// Blocks that fill a multiprocessor.
const MOST: usize = 16;
/// Words in and out that no cache holds, and that divide evenly among the threads of all grids here but for few.
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
                        let mut all = [from, to, words, rounds.into()];
                        let arguments = &mut all[..kernel.parameters.len()];
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

/// Words that a kernel computes otherwise than its twin, over shapes that end in every stage of its loops.
pub(crate) fn wrong_words(gpu: &Gpu, kernel: &Kernel) -> Outcome<i64> {
    let is_it = |it: &Pipe| it.name() == kernel.name;
    let pipe = Pipe::ALL.into_iter().find(is_it).ok_or("it is not known")?;
    let twin = kernel.twin().ok_or("it has no twin")?;
    let function = gpu.kernel(kernel)?;
    let [stream, _] = gpu.streams;
    let (pair, target) = (gpu.pair(4 * MIB)?, gpu.allocate(4 * MIB)?);
    let mut wrong = 0;
    for (words, rounds, blocks) in [
        (MIB, 0, 1056),
        (MIB, 1, 132),
        (MIB, 15, 7),
        (MIB - 3, 17, 1000),
        (MIB - 257, 1001, 1056),
        (TILE * 4 + 1, pipe.most_rounds(), 1),
        (1, pipe.most_rounds(), 3),
    ] {
        let bytes = 4 * words;
        let input: Vec<u8> =
            (0..bytes).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        // SAFETY: both are that long and do not overlap; nothing else uses the pinned one.
        unsafe { std::ptr::copy_nonoverlapping(input.as_ptr(), pair.host, bytes) };
        gpu.copy(Direction::HostToDevice, pair.host, pair.device, bytes, stream)?;
        let mut all = [pair.device, target, words as u64, u64::from(rounds)];
        let arguments = &mut all[..kernel.parameters.len()];
        gpu.launch(function, [blocks, kernel.threads as usize], stream, arguments)?;
        gpu.copy(Direction::DeviceToHost, pair.host, target, bytes, stream)?;
        gpu.synchronize(stream)?;
        let mut told = vec![
            kernels::Argument::Pointer(pair.device),
            kernels::Argument::Pointer(target),
            kernels::Argument::U32(words as u32),
            kernels::Argument::U32(rounds),
        ];
        told.truncate(kernel.parameters.len());
        let mut expected = vec![vec![0; bytes]];
        twin(&told, &[&input], &mut expected);
        // SAFETY: the copy into it is complete, and it is that long.
        let got = unsafe { std::slice::from_raw_parts(pair.host, bytes) };
        wrong += expected[0].chunks(4).zip(got.chunks(4)).filter(|(a, b)| a != b).count();
    }
    Ok(wrong as i64)
}
