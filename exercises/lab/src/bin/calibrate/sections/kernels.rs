//! How fast kernels are.

use std::cell::Cell;

use kernels::Blocks;

use crate::arm::Outcome;
use crate::gpu::{ELEMENTS_PER_THREAD, Gpu, Grid, MIB, MS, REPETITIONS, US};
use crate::samples::Samples;

/// Many enough for about 2 ms on a full multiprocessor: what is fixed plays no part in the slope.
const ROUNDS: u32 = 16_385;
/// Some 13 µs for each block of a multiprocessor, much longer than its loads and stores take.
const BLOCK_ROUNDS: u32 = 1536;
/// Elements of each thread that it takes up at once, waiting for memory once.
const AT_ONCE: usize = 4;
/// Some 2 µs between two waits for memory, of a block that has a multiprocessor to itself: most of
/// what a kernel takes is still its work.
const WAIT_ROUNDS: u32 = 255;
/// Elements of each thread of kernels that differ in how often they wait alone. The longer one
/// takes up 17 MB on an H200, which its cache holds.
const WAITING: [usize; 2] = [64, 128];
/// Parts of the blocks that have an element more than the others, in sixteenths: beyond, some
/// multiprocessor of an H200 has such blocks alone, and one more makes no difference.
const LONGER: std::ops::RangeInclusive<usize> = 1..=10;
/// The alignment of device memory, in bytes.
const ALIGNED: usize = 256;
/// Blocks of 256 threads on each multiprocessor, up to as many as it holds: their line tells what a
/// kernel takes however large it is from what each of its blocks takes beside its work.
const BLOCKS: [usize; 6] = [1, 2, 4, 6, 7, MOST_BLOCKS];
const MOST_BLOCKS: usize = 8;
/// More than any cache on the device holds: a kernel finds its first elements in memory.
const FRESH: usize = 1024 * MIB;
/// Threads of a block that has a multiprocessor to itself: one warp for each of its four
/// schedulers.
const THREADS_ALONE: usize = 128;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let elements = THREADS_ALONE * ELEMENTS_PER_THREAD;
    let alone = Grid { blocks: 1, threads: THREADS_ALONE, elements, rounds: ROUNDS };
    let whole = gpu.whole_device(ROUNDS);
    let memory = gpu.allocate(4 * whole.elements)?;

    // From here on the cache has it.
    gpu.launch_map(gpu.whole_device(1), memory, memory, stream)?;
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
    shared_out(gpu, samples)?;

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

/// How blocks and elements are shared out, and what that costs beside the work.
fn shared_out(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let fresh = gpu.allocate(FRESH)?;
    let room = gpu.arm.in_memory(FRESH) as u64;
    let next = Cell::new(0);
    let launch = |grid: Grid| {
        let bytes = gpu.arm.in_memory(4 * grid.elements).next_multiple_of(ALIGNED) as u64;
        let at = if next.get() + bytes > room { 0 } else { next.get() };
        next.set(at + bytes);
        gpu.launch_map(grid, fresh + at, fresh + at, stream)
    };
    let even = |blocks: usize, each: usize, rounds: u32| {
        let grid = gpu.full_blocks(blocks, rounds);
        Grid { elements: grid.blocks * grid.threads * each, ..grid }
    };
    let of_one = |grid: Grid| work(grid) / grid.blocks as i64;

    samples.keep("map_units_of_block", Ok(vec![of_one(even(1, AT_ONCE, BLOCK_ROUNDS))]));
    samples.keep("map_units_of_element", Ok(vec![of_one(even(1, 1, BLOCK_ROUNDS))]));
    for blocks in BLOCKS {
        let grid = even(blocks, AT_ONCE, BLOCK_ROUNDS);
        samples.take(format!("map_blocks_period_ns/{blocks}"), times, || {
            gpu.period(4 * MS, [5, 20], || launch(grid))
        });
    }
    for sixteenths in LONGER {
        let grid = even(MOST_BLOCKS, AT_ONCE, BLOCK_ROUNDS);
        let more = grid.blocks * grid.threads * sixteenths / 16;
        let grid = Grid { elements: grid.elements + more, ..grid };
        samples.take(format!("map_longer_period_ns/{sixteenths}"), times, || {
            gpu.period(4 * MS, [5, 20], || launch(grid))
        });
    }
    let longest = even(1, WAITING[1], 1);
    let kept = gpu.allocate(4 * longest.elements)?;
    let cached = |grid: Grid| {
        gpu.launch_map(longest, kept, kept, stream)?;
        gpu.period(4 * MS, [5, 20], || gpu.launch_map(grid, kept, kept, stream))
    };
    samples.take("map_cached_period_ns", times, || cached(even(1, AT_ONCE, BLOCK_ROUNDS)));
    samples.keep("map_units_of_wait", Ok(vec![of_one(even(1, AT_ONCE, WAIT_ROUNDS))]));
    for each in WAITING {
        let grid = even(1, each, WAIT_ROUNDS);
        samples.take(format!("map_waits_period_ns/{}", each / AT_ONCE), times, || cached(grid));
        samples.take(format!("map_uncached_waits_period_ns/{}", each / AT_ONCE), times, || {
            gpu.period(4 * MS, [5, 20], || launch(grid))
        });
    }
    Ok(())
}

/// Element-rounds of a grid.
fn work(grid: Grid) -> i64 {
    grid.elements as i64 * i64::from(grid.rounds)
}
