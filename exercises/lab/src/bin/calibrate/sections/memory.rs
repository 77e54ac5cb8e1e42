//! Device memory: kernels that do nothing else, copies inside, memsets.

use crate::arm::Outcome;
use crate::gpu::{Gpu, Grid, KIB, MIB, MS, REPETITIONS, US, call};
use crate::samples::Samples;

/// Far more than the caches of the device hold, and half of it, whose time is taken off: what is
/// fixed cancels out.
const SIZES: [usize; 2] = [128 * MIB, 256 * MIB];

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let [few, many] = SIZES;
    let (from, to) = (gpu.allocate(many)?, gpu.allocate(many)?);
    let slope = |issue: &dyn Fn(usize) -> Outcome<()>| {
        let time = |bytes| gpu.between(100 * US, [stream; 2], || issue(bytes));
        Ok(time(many)? - time(few)?)
    };
    samples.keep("memory_slope_bytes", Ok(vec![(many - few) as i64]));
    // Which grid draws the most is not known beforehand.
    for per_multiprocessor in [2, 4, 8, 16, 32] {
        let grid = Grid {
            blocks: per_multiprocessor * gpu.multiprocessors,
            threads: 256,
            elements: 0,
            rounds: 0,
        };
        samples.take(format!("memory_map_ns/{per_multiprocessor}"), times, || {
            slope(&|bytes| gpu.launch_map(Grid { elements: bytes / 4, ..grid }, from, to, stream))
        });
    }
    let in_memory = |bytes| gpu.arm.in_memory(bytes);
    samples.take("memory_copy_ns", times, || {
        slope(&|bytes| call!(cuMemcpyDtoDAsync_v2(to, from, in_memory(bytes), stream)))
    });
    samples.take("memset_ns", times, || {
        slope(&|bytes| call!(cuMemsetD8Async(to, 1, in_memory(bytes), stream)))
    });
    samples.take("memset_4KiB_period_ns", times, || {
        gpu.period(4 * MS, [100, 300], || call!(cuMemsetD8Async(to, 1, in_memory(4 * KIB), stream)))
    });
    Ok(())
}
