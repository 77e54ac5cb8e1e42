//! Copies from and to pageable memory, which pass through a pinned buffer of the driver's: the
//! host's own copy sets their pace.
//!
//! Blocks are taken in turn from much more memory than the processor's caches hold, as programs
//! copy: what is copied is in no cache.

use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, KIB, MIB, MS};
use crate::pages::Pages;
use crate::samples::Samples;

/// Several times the largest cache of a processor.
const ALL: usize = 1024 * MIB;
/// Copies that the driver may take into its buffer and return.
const SMALL: [usize; 7] = [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 512 * KIB, MIB, 2 * MIB];
/// Copies that take many pieces.
const LARGE: [usize; 6] = [3 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB];
/// More than for others: the host's memory is shared with all that runs there.
const REPETITIONS: usize = 21;
/// Far more than the host's part of a staged copy.
const AHEAD: u64 = 5 * MS;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let all = gpu.arm.in_memory(ALL);
    let pages = Pages::new(all)?;
    let device = gpu.allocate(64 * MIB)?;
    // Goes on from size to size: what the one before had read would still be in a cache.
    let mut offset = 0;
    for direction in Direction::BOTH {
        let name = direction.short();
        for bytes in SMALL.into_iter().chain(LARGE) {
            let actual = gpu.arm.in_memory(bytes);
            let mut totals = Ok(Vec::new());
            let times = gpu.arm.repetitions(REPETITIONS);
            samples.take(format!("pageable_{name}_call_ns/{bytes}"), times, || {
                offset = (offset + actual) % all;
                let block = pages.block(offset, actual);
                gpu.idle()?;
                let began = gpu.arm.now()?;
                gpu.copy(direction, block, device, bytes, stream)?;
                let call = began.elapsed_ns()?;
                gpu.synchronize(stream)?;
                if let Ok(totals) = &mut totals {
                    totals.push(began.elapsed_ns()?);
                }
                Ok(call)
            });
            samples.keep(format!("pageable_{name}_total_ns/{bytes}"), totals);
        }
    }

    samples.take("staged_bytes", gpu.arm.repetitions(3), || {
        let returns_early = |bytes: usize| {
            gpu.idle()?;
            gpu.spin(stream, AHEAD)?;
            let held = gpu.held(|| {
                gpu.copy(Direction::HostToDevice, pages.block(0, 0), device, bytes, stream)
            })?;
            gpu.idle()?;
            Ok::<_, String>(held < AHEAD as i64 / 2)
        };
        // In steps of 256 bytes: nobody's copies end closer to the limit.
        let step = 256;
        let (mut early, mut late) = (0, 64 * MIB / step);
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            if returns_early(middle * step)? { early = middle } else { late = middle }
        }
        Ok((early * step) as i64)
    });
    Ok(())
}
