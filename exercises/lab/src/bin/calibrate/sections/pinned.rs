//! Copies from and to pinned memory: alone, and with the other direction at work.

use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, MIB, MS, REPETITIONS, Timing, US, event};
use crate::samples::Samples;

/// The largest copy measured.
const BUFFER: usize = 256 * MIB;
/// Of both directions at once: each long, so that the ends of a row count for little.
const PIECE: usize = 64 * MIB;
/// In the direction that is measured, and in the other, which must be at work until the first is
/// done.
const PIECES: [usize; 2] = [8, 12];

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, other] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let pairs = [gpu.pair(BUFFER)?, gpu.pair(BUFFER)?];
    let copy = |direction, index: usize, bytes: usize, stream| {
        let pair = &pairs[usize::from(direction == Direction::DeviceToHost)];
        let offset = gpu.arm.in_memory(index * bytes % BUFFER);
        gpu.copy(
            direction,
            pair.host.wrapping_add(offset),
            pair.device + offset as u64,
            bytes,
            stream,
        )
    };
    for direction in Direction::BOTH {
        let name = direction.short();
        for mib in [1, 4, 16, 64, 256] {
            samples.take(format!("pinned_{name}_ns/{}", mib * MIB), times, || {
                gpu.between(100 * US, [stream; 2], || copy(direction, 0, mib * MIB, stream))
            });
        }
    }

    let [measured, beside] = PIECES;
    let done = event(Timing::On)?;
    for (direction, against) in
        Direction::BOTH.into_iter().zip([Direction::DeviceToHost, Direction::HostToDevice])
    {
        let name = direction.short();
        samples.take(format!("duplex_{name}_alone_ns"), times, || {
            gpu.between(3 * MS, [stream; 2], || {
                (0..measured).try_for_each(|i| copy(direction, i, PIECE, stream))
            })
        });
        let mut everything = Ok(Vec::new());
        samples.take(format!("duplex_{name}_both_ways_ns"), times, || {
            let all = gpu.between(3 * MS, [stream, other], || {
                gpu.wait(other, gpu.start)?;
                for i in 0..beside {
                    if i < measured {
                        copy(direction, i, PIECE, stream)?;
                    }
                    copy(against, i, PIECE, other)?;
                }
                gpu.record(done, stream)
            })?;
            if let Ok(everything) = &mut everything {
                everything.push(all);
            }
            gpu.elapsed(gpu.start, done)
        });
        samples.keep(format!("duplex_{name}_everything_ns"), everything);
    }
    Ok(())
}
