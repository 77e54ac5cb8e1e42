//! Copy engines, and when the bytes of a copy move.

use cudarc::driver::sys;

use crate::bench::{Bench, Event, Host, Kind, MS, Memory, Pinned, Stopwatch, Stream, cu, nothing};
use crate::row::{
    BLOCKED, Data, Engine, FREE, Fact, NEW, NOT_SUPPORTED, OLD, OVERLAP, Result, Row, SERIAL, Turn,
};

const KIND: Kind = Kind::NonBlocking;
const MIB: usize = 1 << 20;

/// A copy of this size takes over a millisecond, and queueing it a few µs.
const LARGE: usize = 64 * MIB;
/// Copies that take turns, or do not: 0.3 ms each.
const PART: usize = 16 * MIB;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// A pinned copy in one direction.
struct Transfer {
    way: Way,
    bytes: usize,
    device: Memory,
    host: Host,
}

impl Transfer {
    fn new(way: Way, bytes: usize) -> Result<Self> {
        Ok(Self { way, bytes, device: Memory::new(bytes)?, host: Host::pinned(bytes)? })
    }

    fn queue(&self, stream: sys::CUstream) -> Result<()> {
        let (device, host) = (self.device.address(), self.host.address());
        match self.way {
            Way::Up => cu!(cuMemcpyHtoDAsync_v2(device, host, self.bytes, stream)),
            Way::Down => cu!(cuMemcpyDtoHAsync_v2(host, device, self.bytes, stream)),
        }
        .result()
    }
}

/// From the start of the first to the end of the last copy, all on streams of their own, in ms.
fn span(bench: &Bench, transfers: &[&Transfer]) -> Result<f64> {
    let gate = Stream::new(KIND)?;
    let streams: Vec<Stream> =
        transfers.iter().map(|_| Stream::new(KIND)).collect::<Result<_>>()?;
    bench.synchronize()?;
    // All are queued by the time that the first may start.
    bench.kernel(gate.handle(), 1.0)?;
    let open = Event::recorded(gate.handle())?;
    let mut ends = Vec::new();
    for (transfer, stream) in transfers.iter().zip(&streams) {
        stream.wait(&open)?;
        transfer.queue(stream.handle())?;
        ends.push(Event::recorded(stream.handle())?);
    }
    bench.synchronize()?;
    ends.iter().try_fold(0.0_f64, |most, end| Ok(most.max(end.since(&open)?)))
}

/// Whether two copies run at the same time.
fn side_by_side(bench: &Bench, first: Way, second: Way) -> Result<Vec<Fact>> {
    let (first, second) = (Transfer::new(first, LARGE)?, Transfer::new(second, LARGE)?);
    let longest = span(bench, &[&first])?.max(span(bench, &[&second])?);
    let both = span(bench, &[&first, &second])?;
    Ok(vec![if both > 1.6 * longest { SERIAL } else { OVERLAP }])
}

/// When copies are issued, and in which order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Issue {
    /// Stream by stream for each copy, on an idle engine.
    BreadthFirst,
    /// The same, while all streams wait for one event.
    BreadthFirstBehindAnEvent,
    /// All copies of a stream before the next stream's.
    DepthFirst,
}

/// Copies of each stream.
const COPIES: usize = 4;

/// How an engine serves copies of several streams. Only the ends of streams are looked at, so nothing
/// stands between the copies.
fn served(bench: &Bench, way: Way, streams: usize, issue: Issue) -> Result<Vec<Fact>> {
    let transfers: Vec<Transfer> =
        (0..streams).map(|_| Transfer::new(way, PART)).collect::<Result<_>>()?;
    let streams: Vec<Stream> = (0..streams).map(|_| Stream::new(KIND)).collect::<Result<_>>()?;
    let gate = Stream::new(KIND)?;
    bench.synchronize()?;
    let start = Event::new()?;
    if issue == Issue::BreadthFirstBehindAnEvent {
        bench.kernel(gate.handle(), 1.0)?;
        start.record(gate.handle())?;
        for stream in &streams {
            stream.wait(&start)?;
        }
    } else {
        start.record(gate.handle())?;
    }
    let pairs: Vec<_> = streams.iter().zip(&transfers).collect();
    if issue == Issue::DepthFirst {
        for (stream, transfer) in &pairs {
            for _ in 0..COPIES {
                transfer.queue(stream.handle())?;
            }
        }
    } else {
        for _ in 0..COPIES {
            for (stream, transfer) in &pairs {
                transfer.queue(stream.handle())?;
            }
        }
    }
    let ends: Vec<Event> =
        streams.iter().map(|stream| Event::recorded(stream.handle())).collect::<Result<_>>()?;
    bench.synchronize()?;
    let ends: Vec<f64> = ends.iter().map(|end| end.since(&start)).collect::<Result<_>>()?;
    let (first, last) = ends
        .iter()
        .fold((f64::MAX, 0.0_f64), |(first, last), &end| (first.min(end), last.max(end)));
    // Stream by stream, the first ends after its part of the time. In turn, each ends among the last.
    let alone = last / streams.len() as f64;
    let halfway = f64::midpoint(alone, last - alone / COPIES as f64);
    Ok(vec![Fact::Engine(if first < halfway { Engine::Stays } else { Engine::TakesTurns })])
}

/// What a copy brought, where there were 1s before and 2s after.
fn data(word: u32) -> Vec<Fact> {
    vec![Fact::Data(if word == 1 { Data::Old } else { Data::New })]
}

const WORDS: usize = 1024;
const BYTES: usize = 4 * WORDS;

/// Device memory of 1s.
fn ones(bench: &Bench) -> Result<Memory> {
    let memory = Memory::new(BYTES)?;
    cu!(cuMemsetD32_v2(memory.address(), 1, WORDS)).result()?;
    bench.synchronize()?;
    Ok(memory)
}

/// The first word of device memory, when all is done.
fn first_word(bench: &Bench, memory: &Memory) -> Result<u32> {
    bench.synchronize()?;
    let mut word = 0_u32;
    cu!(cuMemcpyDtoH_v2((&raw mut word).cast(), memory.address(), 4)).result()?;
    Ok(word)
}

/// A kernel writes on one stream, and another reads; what does it see?
fn read_beside(
    bench: &Bench,
    order: impl FnOnce(&Stream, &Stream) -> Result<()>,
) -> Result<Vec<Fact>> {
    let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
    let (memory, host) = (ones(bench)?, Pinned::new(BYTES)?);
    bench.launch_on(first.handle(), 1, bench.rounds(MS), memory.address())?;
    order(&first, &second)?;
    cu!(cuMemcpyDtoHAsync_v2(host.address(), memory.address(), BYTES, second.handle())).result()?;
    bench.synchronize()?;
    Ok(data(host.word()))
}

/// Host memory of 1s is copied behind a kernel and overwritten with 2s at once.
fn overwritten(bench: &Bench, bytes: usize, host: &Host) -> Result<Vec<Fact>> {
    let stream = Stream::new(KIND)?;
    let memory = Memory::new(bytes)?;
    let words = host.address().cast::<u32>();
    let fill = |word: u32| {
        for index in 0..bytes / 4 {
            // SAFETY: the block has that many words. That a copy may be reading them is the question.
            unsafe { words.add(index).write_volatile(word) };
        }
    };
    fill(1);
    bench.synchronize()?;
    bench.kernel(stream.handle(), MS)?;
    let (to, from) = (memory.address(), host.address());
    cu!(cuMemcpyHtoDAsync_v2(to, from, bytes, stream.handle())).result()?;
    fill(2);
    Ok(data(first_word(bench, &memory)?))
}

pub(super) fn rows() -> Vec<Row> {
    let name = |what: &str| format!("copies: {what}");
    let mut rows = vec![
        Row::new(name("two uploads on two streams run in turn"), &[SERIAL], |bench| {
            side_by_side(bench, Way::Up, Way::Up)
        }),
        Row::new(name("two downloads on two streams run in turn"), &[SERIAL], |bench| {
            side_by_side(bench, Way::Down, Way::Down)
        }),
        Row::new(name("an upload and a download run side by side"), &[OVERLAP], |bench| {
            side_by_side(bench, Way::Up, Way::Down)
        }),
    ];
    for (what, way) in [("an upload", Way::Up), ("a download", Way::Down)] {
        rows.push(Row::new(
            name(&format!("{what} runs beside a kernel that fills the device")),
            &[OVERLAP],
            move |bench| {
                let (kernel, copy) = (Stream::new(KIND)?, Stream::new(KIND)?);
                let transfer = Transfer::new(way, LARGE)?;
                bench.synchronize()?;
                bench.launch(kernel.handle(), 8 * 132, bench.rounds(MS / 8.0))?;
                let kernel_end = Event::recorded(kernel.handle())?;
                transfer.queue(copy.handle())?;
                let copy_end = Event::recorded(copy.handle())?;
                bench.synchronize()?;
                let early = kernel_end.since(&copy_end)? > MS / 2.0;
                Ok(vec![if early { OVERLAP } else { SERIAL }])
            },
        ));
    }
    for (what, way) in [("uploads", Way::Up), ("downloads", Way::Down)] {
        for streams in [2, 4] {
            let rest = format!("of {what} on {streams} streams, {COPIES} each");
            for (how, issue) in [
                ("breadth-first issue", Issue::BreadthFirst),
                ("breadth-first issue after one event", Issue::BreadthFirstBehindAnEvent),
                ("depth-first issue", Issue::DepthFirst),
            ] {
                rows.push(Row::new(
                    name(&format!("{how} {rest}")),
                    &[Fact::Engine(Engine::Stays)],
                    move |bench| served(bench, way, streams, issue),
                ));
            }
        }
    }
    rows.push(Row::new(
        name("a stream's priority does not help a copy"),
        &[Fact::Turn(Turn::Late)],
        |bench| {
            let low = Stream::with_priority(KIND, 0)?;
            let high = Stream::with_priority(KIND, -5)?;
            let (long, short) = (Transfer::new(Way::Up, PART)?, Transfer::new(Way::Up, MIB)?);
            bench.synchronize()?;
            let start = Event::recorded(low.handle())?;
            for _ in 0..16 {
                long.queue(low.handle())?;
            }
            let low_end = Event::recorded(low.handle())?;
            short.queue(high.handle())?;
            let high_end = Event::recorded(high.handle())?;
            bench.synchronize()?;
            let early = high_end.since(&start)? < low_end.since(&start)? / 2.0;
            Ok(vec![Fact::Turn(if early { Turn::Early } else { Turn::Late })])
        },
    ));
    rows.extend([
        Row::new(name("a read without a wait sees what was there before"), &[OLD], |bench| {
            read_beside(bench, |_, _| Ok(()))
        }),
        Row::new(name("a read after a wait sees what the kernel wrote"), &[NEW], |bench| {
            read_beside(bench, |first, second| second.wait(&Event::recorded(first.handle())?))
        }),
        Row::new(
            name("a read after the kernel's stream was destroyed sees what was there before"),
            &[OLD],
            |bench| read_beside(bench, |first, _| first.destroy()),
        ),
        Row::new(
            name("the work of a stream that was destroyed is done all the same"),
            &[NEW],
            |bench| {
                let (stream, memory) = (Stream::new(KIND)?, ones(bench)?);
                bench.launch_on(stream.handle(), 1, bench.rounds(MS), memory.address())?;
                stream.destroy()?;
                Ok(data(first_word(bench, &memory)?))
            },
        ),
        Row::new(
            name("a memset while a kernel maps the memory is overwritten by the kernel"),
            &[NEW],
            |bench| {
                let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
                let memory = ones(bench)?;
                bench.launch_on(first.handle(), 1, bench.rounds(MS), memory.address())?;
                cu!(cuMemsetD32Async(memory.address(), 1, WORDS, second.handle())).result()?;
                Ok(data(first_word(bench, &memory)?))
            },
        ),
        Row::new(
            name("host memory read before the download is synchronized is old"),
            &[OLD, NEW],
            |bench| {
                let (stream, memory, host) =
                    (Stream::new(KIND)?, Memory::new(BYTES)?, Pinned::new(BYTES)?);
                host.fill(WORDS, 1);
                cu!(cuMemsetD32_v2(memory.address(), 2, WORDS)).result()?;
                bench.synchronize()?;
                bench.kernel(stream.handle(), MS)?;
                let (to, from) = (host.address(), memory.address());
                cu!(cuMemcpyDtoHAsync_v2(to, from, BYTES, stream.handle())).result()?;
                let before = host.word();
                stream.synchronize()?;
                Ok([data(before), data(host.word())].concat())
            },
        ),
        Row::new(
            name("pinned memory overwritten before its upload runs: the new bytes go"),
            &[NEW],
            |bench| overwritten(bench, BYTES, &Host::pinned(BYTES)?),
        ),
    ]);
    for (size, bytes) in [("4 KiB", BYTES), ("1 MiB", MIB), ("4 MiB", 4 * MIB)] {
        rows.push(Row::new(
            name(&format!(
                "{size} of pageable memory overwritten after the call: the old bytes go"
            )),
            &[OLD],
            move |bench| overwritten(bench, bytes, &Host::pageable(bytes)?),
        ));
    }
    rows.push(
        Row::new(
            name("registered memory is uploaded as pinned memory is"),
            &[FREE, NEW],
            |bench| {
                let stream = Stream::new(KIND)?;
                let host = Host::pageable(LARGE)?;
                let memory = Memory::new(LARGE)?;
                cu!(cuMemHostRegister_v2(host.address(), LARGE, 0)).result()?;
                let words = host.address().cast::<u32>();
                // SAFETY: as in `overwritten`.
                let fill = |word| unsafe { words.write_volatile(word) };
                fill(1);
                bench.synchronize()?;
                bench.kernel(stream.handle(), MS)?;
                let (to, from) = (memory.address(), host.address());
                let watch = Stopwatch::start();
                cu!(cuMemcpyHtoDAsync_v2(to, from, LARGE, stream.handle())).result()?;
                let waited = watch.ms() > MS / 2.0;
                fill(2);
                let seen = data(first_word(bench, &memory)?);
                cu!(cuMemHostUnregister(host.address())).result()?;
                Ok([vec![if waited { BLOCKED } else { FREE }], seen].concat())
            },
        )
        .gap(&[NOT_SUPPORTED]),
    );
    rows.push(Row::new(
        name("a host function runs after what its stream was given before"),
        &[NEW],
        |bench| {
            unsafe extern "C" fn look(pair: *mut std::ffi::c_void) {
                let pair = pair.cast::<*mut u32>();
                // SAFETY: both pointers are valid until the stream has been synchronized.
                unsafe { **pair.add(1) = (**pair).wrapping_add(0) };
            }
            let (stream, memory, host) =
                (Stream::new(KIND)?, Memory::new(BYTES)?, Pinned::new(BYTES)?);
            host.fill(WORDS, 1);
            cu!(cuMemsetD32_v2(memory.address(), 2, WORDS)).result()?;
            bench.synchronize()?;
            bench.kernel(stream.handle(), MS)?;
            let (to, from) = (host.address(), memory.address());
            cu!(cuMemcpyDtoHAsync_v2(to, from, BYTES, stream.handle())).result()?;
            let mut seen = 1_u32;
            let mut pair: [*mut u32; 2] = [host.address().cast(), &raw mut seen];
            cu!(cuLaunchHostFunc(stream.handle(), Some(look), pair.as_mut_ptr().cast()))
                .result()?;
            bench.synchronize()?;
            Ok(data(seen))
        },
    ));
    rows.push(Row::new(
        name("what follows a host function in its stream waits for what came before it"),
        &[NEW],
        |bench| {
            let (stream, memory, host) = (Stream::new(KIND)?, ones(bench)?, Pinned::new(BYTES)?);
            bench.launch_on(stream.handle(), 1, bench.rounds(MS), memory.address())?;
            cu!(cuLaunchHostFunc(stream.handle(), Some(nothing), std::ptr::null_mut())).result()?;
            let (to, from) = (host.address(), memory.address());
            cu!(cuMemcpyDtoHAsync_v2(to, from, BYTES, stream.handle())).result()?;
            bench.synchronize()?;
            Ok(data(host.word()))
        },
    ));
    rows
}
