//! How much a stream and the device hold.

use crate::arm::Outcome;
use crate::gpu::{Gpu, MS, stream};
use crate::samples::Samples;

/// Of one kernel: much longer than so many launches take.
const KERNEL: u64 = 5 * MS;
/// More than any device holds at once (CUDA C++ Programming Guide, technical specifications: 128).
const MOST_GRIDS: usize = 512;
/// A call that takes longer than this has waited for the kernel ahead, in ns.
const BLOCKED: i64 = 1_000_000;
/// Kernels ahead of the launches that fill a stream: these must all be made while it runs.
const AHEAD: u64 = 40 * MS;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let times = gpu.arm.repetitions(3);
    let [first, _] = gpu.streams;
    samples.take("queue_depth", times, || {
        gpu.idle()?;
        gpu.spin(first, AHEAD)?;
        // So that the kernel ahead has left the queue.
        gpu.arm.pause(MS)?;
        let mut accepted = 0;
        while accepted < 100_000 && gpu.held(|| gpu.nothing(first))? < BLOCKED {
            accepted += 1;
        }
        gpu.idle()?;
        Ok(accepted)
    });

    let mut streams = Vec::new();
    for _ in 0..MOST_GRIDS {
        streams.push(stream()?);
    }
    let together = |count: usize| {
        gpu.idle()?;
        gpu.held(|| {
            streams[..count].iter().try_for_each(|stream| gpu.spin(*stream, KERNEL))?;
            gpu.idle()
        })
    };
    samples.take("resident_grids", times, || {
        let launches = gpu.held(|| streams.iter().try_for_each(|stream| gpu.nothing(*stream)))?;
        // A grid that finds no room starts when another one ends.
        let limit =
            |count: usize| KERNEL as i64 * 3 / 2 + launches * count as i64 / MOST_GRIDS as i64;
        let (mut fit, mut wait) = (1, MOST_GRIDS + 1);
        while wait - fit > 1 {
            let middle = fit + (wait - fit) / 2;
            if together(middle)? < limit(middle) { fit = middle } else { wait = middle }
        }
        Ok(fit as i64)
    });
    Ok(())
}
