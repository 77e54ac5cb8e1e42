//! How fast kernels are.

use std::cell::Cell;

use kernels::Blocks;

use crate::gpu::{ELEMENTS_PER_THREAD, Gpu, Grid, MIB, MS, Outcome, REPETITIONS, US};
use crate::samples::Samples;

/// Many enough for about 2 ms on a full multiprocessor: what is fixed plays no part in the slope.
const ROUNDS: u32 = 16_385;
/// Elements of a thread, in eighths, in three kernels: as programs have them, they come out even neither with
/// the threads nor with the four chains of each, so that some warps are at work when others are done.
const UNEVEN: [usize; 3] = [35, 61, 122];
/// Some 14 to 48 µs for each block of a multiprocessor, much longer than its loads and stores take.
const UNEVEN_ROUNDS: u32 = 1536;
/// What device memory is handed out in, in bytes.
const ALIGNED: usize = 256;
/// Blocks of 256 threads on each multiprocessor, up to as many as it holds: their line tells what a kernel
/// takes however large it is from what each of its blocks takes beside its work.
const BLOCKS: [usize; 6] = [1, 2, 4, 6, 7, 8];
/// More than any cache on the device holds: kernels of exercises find their elements in memory.
const FRESH: usize = 1024 * MIB;
/// Threads of a block that has a multiprocessor to itself: one warp for each of its four schedulers.
const THREADS_ALONE: usize = 128;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let elements = THREADS_ALONE * ELEMENTS_PER_THREAD;
    let alone = Grid { blocks: 1, threads: THREADS_ALONE, elements, rounds: ROUNDS };
    let whole = gpu.whole_device(ROUNDS);
    let memory = gpu.allocate(4 * whole.elements)?;

    // The figure is what so many more rounds take.
    let slope = |grid: Grid| {
        let time = |rounds: u32| {
            gpu.between(100 * US, [stream; 2], || {
                gpu.launch_map(Grid { rounds, ..grid }, memory, memory, stream)
            })
        };
        Ok(time(2 * ROUNDS)? - time(ROUNDS)?)
    };
    samples.keep("map_units_alone", Ok(vec![work(alone)]));
    samples.keep("map_warps_alone", Ok(vec![(THREADS_ALONE / 32) as i64]));
    samples.take("map_alone_ns", times, || slope(alone));
    samples.keep("map_units_whole_device", Ok(vec![work(whole)]));
    samples.take("map_whole_device_ns", times, || slope(whole));
    let uneven = |blocks: usize| {
        let whole = gpu.full_blocks(blocks, UNEVEN_ROUNDS);
        UNEVEN.map(|eighths| Grid { elements: whole.blocks * whole.threads * eighths / 8, ..whole })
    };
    let of_each = uneven(1).map(work).iter().sum::<i64>() / gpu.multiprocessors as i64;
    samples.keep("map_units_of_block", Ok(vec![of_each]));
    let fresh = gpu.allocate(FRESH)?;
    let room = gpu.arm.in_memory(FRESH) as u64;
    for blocks in BLOCKS {
        let next = Cell::new(0);
        let launch = |grid: Grid| {
            let bytes = gpu.arm.in_memory(4 * grid.elements).next_multiple_of(ALIGNED) as u64;
            let at = if next.get() + bytes > room { 0 } else { next.get() };
            next.set(at + bytes);
            gpu.launch_map(grid, fresh + at, fresh + at, stream)
        };
        samples.take(format!("map_blocks_period_ns/{blocks}"), times, || {
            gpu.period(8 * MS, [5, 20], || uneven(blocks).into_iter().try_for_each(launch))
        });
    }

    let Some(matmul) = kernels::find("matmul_1024") else { return Ok(()) };
    let Blocks::Exactly(blocks) = matmul.blocks else { return Ok(()) };
    let function = gpu.kernel(matmul)?;
    let matrices = gpu.allocate(12 * MIB)?;
    let matrix = gpu.arm.in_memory(4 * MIB) as u64;
    for (key, value) in [
        ("matmul_units", 1024 * 1024 * 1024),
        ("matmul_blocks", i64::from(blocks)),
        ("matmul_warps_per_block", i64::from(matmul.threads / 32)),
    ] {
        samples.keep(key, Ok(vec![value]));
    }
    samples.take("matmul_period_ns", times, || {
        gpu.period(2 * MS, [20, 80], || {
            let mut matrices = [matrices, matrices + matrix, matrices + 2 * matrix];
            let shape = [blocks as usize, matmul.threads as usize];
            gpu.launch(function, shape, stream, &mut matrices)
        })
    });
    Ok(())
}

/// Element-rounds of a grid.
fn work(grid: Grid) -> i64 {
    grid.elements as i64 * i64::from(grid.rounds)
}
