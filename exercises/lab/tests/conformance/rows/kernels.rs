//! How many kernels run at once, whose turn comes first, and how many can be queued.

use std::ptr;

use cudarc::driver::sys::CUdevice_attribute;

use crate::bench::{Bench, Event, Host, Kind, MS, Memory, Stopwatch, Stream, cu};
use crate::row::{BLOCKED, FREE, Fact, OVERLAP, Result, Row, SERIAL, Turn};

const KIND: Kind = Kind::NonBlocking;

/// Multiprocessors of the H200. On a device with others, the rows that fill it ask something else.
const MULTIPROCESSORS: u32 = 132;
/// Blocks that fill the device: 8 of 256 threads on each multiprocessor.
const FULL: u32 = 8 * MULTIPROCESSORS;

/// Length of kernels of which one after the other would take twice as long, in ms.
const SHORT_MS: f64 = 10.0;

/// Whether so many kernels, each on a stream of its own, take longer than one.
fn at_once(bench: &Bench, streams: usize, blocks: u32, rounds: u32) -> Result<Vec<Fact>> {
    let streams: Vec<Stream> = (0..streams).map(|_| Stream::new(KIND)).collect::<Result<_>>()?;
    let span = |streams: &[Stream]| {
        bench.synchronize()?;
        // Events of the first stream only: what others have to wait for is not to be changed.
        let start = Event::recorded(streams[0].handle())?;
        for stream in streams {
            bench.launch(stream.handle(), blocks, rounds)?;
        }
        let ends: Vec<Event> =
            streams.iter().map(|stream| Event::recorded(stream.handle())).collect::<Result<_>>()?;
        bench.synchronize()?;
        ends.iter().try_fold(0.0_f64, |most, end| Ok(most.max(end.since(&start)?)))
    };
    let one = span(&streams[..1])?;
    let all = span(&streams)?;
    Ok(vec![if all > 1.6 * one { SERIAL } else { OVERLAP }])
}

/// Kernels queued behind a busy kernel: does a launch wait?
fn queued(bench: &Bench, launches: u32, other_stream: u32) -> Result<Vec<Fact>> {
    // Long enough for some thousand launches of 3 µs, and to tell one that waits.
    const BUSY_MS: f64 = 60.0;
    let (busy, other) = (Stream::new(KIND)?, Stream::new(KIND)?);
    bench.synchronize()?;
    bench.kernel(busy.handle(), BUSY_MS)?;
    let watch = Stopwatch::start();
    for _ in 0..launches {
        bench.launch(busy.handle(), 1, 1)?;
    }
    for _ in 0..other_stream {
        bench.launch(other.handle(), 1, 1)?;
    }
    let waited = watch.ms() > BUSY_MS / 2.0;
    bench.synchronize()?;
    Ok(vec![if waited { BLOCKED } else { FREE }])
}

/// When a short kernel that is issued behind a long one of eight waves gets its turn.
fn turn(bench: &Bench, short_priority: i32, long_priority: i32) -> Result<Vec<Fact>> {
    let long = Stream::with_priority(KIND, long_priority)?;
    let short = Stream::with_priority(KIND, short_priority)?;
    bench.synchronize()?;
    let start = Event::recorded(long.handle())?;
    // A wave of eight blocks to a multiprocessor takes 4 ms, all eight of them 32.
    bench.launch(long.handle(), 8 * FULL, bench.rounds(0.5))?;
    let long_end = Event::recorded(long.handle())?;
    bench.launch(short.handle(), MULTIPROCESSORS, bench.rounds(0.1))?;
    let short_end = Event::recorded(short.handle())?;
    bench.synchronize()?;
    let early = short_end.since(&start)? < 0.6 * long_end.since(&start)?;
    Ok(vec![Fact::Turn(if early { Turn::Early } else { Turn::Late })])
}

/// Two kernels on a first stream, then one on a second: does it wait for the first stream's first?
fn behind_a_dependent(bench: &Bench) -> Result<Vec<Fact>> {
    let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
    bench.synchronize()?;
    let start = Event::recorded(first.handle())?;
    bench.kernel(first.handle(), MS)?;
    bench.kernel(first.handle(), MS)?;
    bench.kernel(second.handle(), MS)?;
    let end = Event::recorded(second.handle())?;
    bench.synchronize()?;
    Ok(vec![if end.since(&start)? > 1.6 * MS { SERIAL } else { OVERLAP }])
}

/// Sixteen chunks over four streams, breadth-first: all uploads, then all kernels, then all downloads.
/// Is any of it hidden?
fn breadth_first(bench: &Bench) -> Result<Vec<Fact>> {
    const CHUNKS: usize = 16;
    const BYTES: usize = 8 << 20;
    let streams: Vec<Stream> = (0..4).map(|_| Stream::new(KIND)).collect::<Result<_>>()?;
    let (memory, host) = (Memory::new(CHUNKS * BYTES)?, Host::pinned(CHUNKS * BYTES)?);
    // As long as a copy of a chunk, 0.15 ms, and one at a time, since each fills the device.
    let rounds = bench.rounds(0.15 / 8.0);
    let gate = Stream::new(KIND)?;
    let span = |streams: &[Stream]| {
        let chunks = || {
            (0..CHUNKS).map(|chunk| {
                let device = memory.address() + (chunk * BYTES) as u64;
                let host = host.address().wrapping_byte_add(chunk * BYTES);
                (streams[chunk % streams.len()].handle(), device, host)
            })
        };
        bench.synchronize()?;
        bench.kernel(gate.handle(), 1.0)?;
        let start = Event::recorded(gate.handle())?;
        for stream in streams {
            stream.wait(&start)?;
        }
        for (stream, device, host) in chunks() {
            cu!(cuMemcpyHtoDAsync_v2(device, host, BYTES, stream)).result()?;
        }
        for (stream, _, _) in chunks() {
            bench.launch(stream, FULL, rounds)?;
        }
        for (stream, device, host) in chunks() {
            cu!(cuMemcpyDtoHAsync_v2(host, device, BYTES, stream)).result()?;
        }
        let ends: Vec<Event> =
            streams.iter().map(|stream| Event::recorded(stream.handle())).collect::<Result<_>>()?;
        bench.synchronize()?;
        ends.iter().try_fold(0.0_f64, |most, end| Ok(most.max(end.since(&start)?)))
    };
    let one = span(&streams[..1])?;
    let four = span(&streams)?;
    // Measured on chunks of 16 MiB: 16.1 ms on one stream, 8.6 on four, 14.0 on four in one work queue.
    Ok(vec![if four > 0.7 * one { SERIAL } else { OVERLAP }])
}

pub(super) fn rows() -> Vec<Row> {
    let name = |what: &str| format!("kernels: {what}");
    let mut rows = Vec::new();
    for (streams, expect) in
        [(2, OVERLAP), (8, OVERLAP), (9, OVERLAP), (64, OVERLAP), (128, OVERLAP), (129, SERIAL)]
    {
        let what = name(&format!("{streams} of one block, each on a stream of its own"));
        let row = Row::new(what, &[expect], move |bench| {
            at_once(bench, streams, 1, bench.rounds(SHORT_MS))
        });
        rows.push(if streams > 9 { row.alone() } else { row });
    }
    rows.extend([
        Row::new(name("two that take half of the device each"), &[OVERLAP], |bench| {
            at_once(bench, 2, MULTIPROCESSORS / 2, bench.rounds(SHORT_MS))
        }),
        Row::new(name("two that fill the device"), &[SERIAL], |bench| {
            at_once(bench, 2, FULL, bench.rounds(SHORT_MS / 8.0))
        }),
        Row::new(name("two on one stream"), &[SERIAL], |bench| {
            let stream = Stream::new(KIND)?;
            bench.synchronize()?;
            let start = Event::recorded(stream.handle())?;
            bench.kernel(stream.handle(), SHORT_MS)?;
            bench.kernel(stream.handle(), SHORT_MS)?;
            let end = Event::recorded(stream.handle())?;
            bench.synchronize()?;
            Ok(vec![if end.since(&start)? > 1.6 * SHORT_MS { SERIAL } else { OVERLAP }])
        }),
        Row::new(
            name("a short one after a long one of equal priority"),
            &[Fact::Turn(Turn::Late)],
            |bench| turn(bench, 0, 0),
        ),
        Row::new(
            name("a short one of higher priority after a long one"),
            &[Fact::Turn(Turn::Early)],
            |bench| turn(bench, -5, 0),
        ),
        Row::new(
            name("a short one of lower priority after a long one"),
            &[Fact::Turn(Turn::Late)],
            |bench| turn(bench, 0, -5),
        ),
        Row::new(
            name("a priority does not drive out what runs"),
            &[Fact::Turn(Turn::Late)],
            |bench| {
                let (low, high) =
                    (Stream::with_priority(KIND, 0)?, Stream::with_priority(KIND, -5)?);
                bench.synchronize()?;
                let start = Event::recorded(low.handle())?;
                bench.launch(low.handle(), FULL, bench.rounds(SHORT_MS / 8.0))?;
                let low_end = Event::recorded(low.handle())?;
                bench.kernel(high.handle(), 0.1)?;
                let high_end = Event::recorded(high.handle())?;
                bench.synchronize()?;
                let early = high_end.since(&start)? < 0.6 * low_end.since(&start)?;
                Ok(vec![Fact::Turn(if early { Turn::Early } else { Turn::Late })])
            },
        ),
        Row::new(
            name("the range of priorities"),
            &[Fact::Number(0), Fact::Number(-5)],
            |_| {
                let (mut least, mut greatest) = (99, 99);
                cu!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest)).result()?;
                Ok(vec![Fact::Number(least), Fact::Number(greatest)])
            },
        ),
        Row::new(
            name("priorities 7, -3 and -9 asked for"),
            &[Fact::Number(0), Fact::Number(-3), Fact::Number(-5)],
            |_| {
                let given = |asked| {
                    let (stream, mut found) = (Stream::with_priority(KIND, asked)?, 99);
                    let priority = ptr::from_mut(&mut found);
                    cu!(cuStreamGetPriority(stream.handle(), priority)).result()?;
                    Ok(Fact::Number(found))
                };
                [7, -3, -9].into_iter().map(given).collect()
            },
        ),
        Row::new(name("the number of asynchronous engines"), &[Fact::Number(3)], |bench| {
            let mut found = 99;
            let engines = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT;
            cu!(cuDeviceGetAttribute(&mut found, engines, bench.device)).result()?;
            Ok(vec![Fact::Number(found)])
        }),
        Row::new(name("1000 launches after a busy one"), &[FREE], |bench| queued(bench, 1000, 0)),
        Row::new(name("1100 launches after a busy one"), &[BLOCKED], |bench| {
            queued(bench, 1100, 0)
        }),
        Row::new(
            name("1000 launches after a busy one, and 1000 on another stream"),
            &[FREE],
            |bench| queued(bench, 1000, 1000),
        ),
        Row::new(
            name("after one that waits in its own stream, on another stream"),
            &[OVERLAP],
            behind_a_dependent,
        ),
        Row::new(
            name("after one that waits in its own stream, on another stream, one work queue"),
            &[SERIAL],
            behind_a_dependent,
        )
        .connections("1"),
        Row::new(
            name("two of one block, each on a stream of its own, one work queue"),
            &[OVERLAP],
            |bench| at_once(bench, 2, 1, bench.rounds(SHORT_MS)),
        )
        .connections("1"),
        Row::new(
            name("copies, kernels and copies back issued breadth-first over 4 streams"),
            &[OVERLAP],
            breadth_first,
        ),
        Row::new(
            name("copies, kernels and copies back issued breadth-first over 4 streams, one work queue"),
            &[SERIAL],
            breadth_first,
        )
        .connections("1"),
    ]);
    rows
}
