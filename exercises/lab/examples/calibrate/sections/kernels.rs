//! How fast kernels are.

use kernels::Blocks;

use crate::gpu::{ELEMENTS_PER_THREAD, Gpu, Grid, MIB, MS, Outcome, REPETITIONS, US};
use crate::samples::Samples;

/// Many enough for about 2 ms on a full multiprocessor: what is fixed plays no part in the slope.
const ROUNDS: u32 = 16_385;
/// About 30 and 60 µs on a full multiprocessor, much longer than its loads and stores take: what the
/// line through both points holds at no rounds at all is the fixed part.
const FEW_ROUNDS: [u32; 2] = [512, 1024];
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
    for rounds in FEW_ROUNDS {
        let grid = Grid { rounds, ..whole };
        samples.take(format!("map_whole_device_period_ns/{rounds}"), times, || {
            gpu.period(2 * MS, [20, 80], || gpu.launch_map(grid, memory, memory, stream))
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
