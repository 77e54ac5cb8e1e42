//! Copies from and to pinned memory: alone, with the other direction at work, and of what the host
//! has just written.

use std::ptr;

use trace::lab_protocol::Request;

use crate::arm::{Arm, Outcome};
use crate::gpu::{Direction, Gpu, KIB, MIB, MS, Pair, REPETITIONS, Timing, US, event};
use crate::pages::Caches;
use crate::samples::Samples;

/// The largest copy measured.
const BUFFER: usize = 256 * MIB;
/// Of both directions at once: each long, so that the ends of a row count for little.
const PIECE: usize = 64 * MIB;
/// In the direction that is measured, and in the other, which must be at work until the first is
/// done.
const PIECES: [usize; 2] = [8, 12];
/// Of both directions at once, where what a copy takes beside its bytes counts.
const SMALL: usize = 64 * KIB;
/// So many of them, in the direction that is measured and in the other.
const SMALL_PIECES: [usize; 2] = [200, 400];

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

    let done = event(Timing::On)?;
    for (direction, against) in
        Direction::BOTH.into_iter().zip([Direction::DeviceToHost, Direction::HostToDevice])
    {
        let name = direction.short();
        // How long the copies of one direction take, and until those of both are done.
        let both_ways = |bytes: usize, [measured, beside]: [usize; 2]| {
            let all = gpu.between(3 * MS, [stream, other], || {
                gpu.wait(other, gpu.start)?;
                for i in 0..beside {
                    if i < measured {
                        copy(direction, i, bytes, stream)?;
                    }
                    copy(against, i, bytes, other)?;
                }
                gpu.record(done, stream)
            })?;
            Ok([gpu.elapsed(gpu.start, done)?, all])
        };
        let alone = |bytes: usize, count: usize| {
            gpu.between(3 * MS, [stream; 2], || {
                (0..count).try_for_each(|i| copy(direction, i, bytes, stream))
            })
        };
        samples.take(format!("duplex_{name}_alone_ns"), times, || alone(PIECE, PIECES[0]));
        let mut everything = Ok(Vec::new());
        samples.take(format!("duplex_{name}_both_ways_ns"), times, || {
            let [ns, all] = both_ways(PIECE, PIECES)?;
            if let Ok(everything) = &mut everything {
                everything.push(all);
            }
            Ok(ns)
        });
        samples.keep(format!("duplex_{name}_everything_ns"), everything);
        samples
            .take(format!("duplex_{name}_small_alone_ns"), times, || alone(SMALL, SMALL_PIECES[0]));
        samples.take(format!("duplex_{name}_small_both_ways_ns"), times, || {
            both_ways(SMALL, SMALL_PIECES).map(|[ns, _]| ns)
        });
    }
    fresh(gpu, &pairs, samples)
}

/// Copies up of what the host has copied to its place, when that was long ago and when it was not.
fn fresh(gpu: &Gpu, [to, from]: &[Pair; 2], samples: &mut Samples) -> Outcome<()> {
    let stream = gpu.streams[0];
    let caches = Caches::new(gpu)?;
    for kib in [512, 1024, 2048, 4096, 8192] {
        let bytes = kib * KIB;
        let up = || {
            gpu.between(100 * US, [stream; 2], || {
                gpu.copy(Direction::HostToDevice, to.host, to.device, bytes, stream)
            })
        };
        let times = gpu.arm.repetitions(REPETITIONS);
        samples.take(format!("left_h2d_ns/{bytes}"), times, || {
            host_copy(gpu, from, to, bytes)?;
            caches.empty(gpu)?;
            up()
        });
        samples.take(format!("fresh_h2d_ns/{bytes}"), times, || {
            caches.empty(gpu)?;
            host_copy(gpu, from, to, bytes)?;
            up()
        });
    }
    Ok(())
}

/// The host copies so many nominal bytes.
fn host_copy(gpu: &Gpu, from: &Pair, to: &Pair, bytes: usize) -> Outcome<()> {
    let bytes = gpu.arm.in_memory(bytes);
    // SAFETY: both blocks are at least that long, and no copy is at work on them.
    unsafe { ptr::copy_nonoverlapping(from.host, to.host, bytes) };
    if gpu.arm == Arm::Real {
        return Ok(());
    }
    let (source, target) = (from.host as u64, to.host as u64);
    let request = Request::HostCopy { source, target, bytes: bytes as u64 };
    lab::driver::ask(&request).map(drop).map_err(|error| error.to_string())
}
