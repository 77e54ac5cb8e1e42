//! Work queues: how many streams may wait before a stream that waits for nothing is delayed.
//!
//! Some streams have an operation each that waits for an event 30 ms away. Then one more stream gets an
//! operation that waits for nothing. It is delayed as soon as there are as many waiting streams as queues.
//! Measured on an H200: `queues.delay` in `book/measured/h200.json`.

use cudarc::driver::sys::CUevent_flags;
use trace::env::{CONNECTIONS, COPY_CONNECTIONS};

use Operation::{Download, Kernel, SmallUpload, TinyUpload, Upload};

use crate::bench::{Bench, Event, Host, Kind, MS, Memory, Stream, cu};
use crate::row::{Fact, OVERLAP, Result, Row, SERIAL};

const KIND: Kind = Kind::NonBlocking;

/// Streams of the rows about idle ones: more than there can be queues.
const MANY: usize = 33;

/// Bytes of a copy that goes through the queues for copies.
const COPY: usize = 64 << 10;
/// Bytes of an upload that does so only if it has to wait.
const SMALL: usize = 4 << 10;
/// Bytes of an upload that does not.
const TINY: usize = 1 << 10;

/// What a stream has to do.
#[derive(Clone, Copy)]
enum Operation {
    Kernel,
    TinyUpload,
    SmallUpload,
    Upload,
    Download,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Kernel => "a kernel",
            TinyUpload => "an upload of 1 KiB",
            SmallUpload => "an upload of 4 KiB",
            Upload => "an upload of 64 KiB",
            Download => "a download of 64 KiB",
        }
    }

    fn several(self) -> &'static str {
        match self {
            Kernel => "kernels",
            TinyUpload => "uploads of 1 KiB",
            SmallUpload => "uploads of 4 KiB",
            Upload => "uploads of 64 KiB",
            Download => "downloads of 64 KiB",
        }
    }
}

/// Memory for the copies. All of a kind use the same: nobody looks at what is in it.
struct Place<'a> {
    bench: &'a Bench,
    memory: Memory,
    host: Host,
}

impl<'a> Place<'a> {
    fn new(bench: &'a Bench) -> Result<Self> {
        Ok(Self { bench, memory: Memory::new(2 * COPY)?, host: Host::pinned(2 * COPY)? })
    }

    fn issue(&self, stream: &Stream, operation: Operation) -> Result<()> {
        let (stream, device, host) = (stream.handle(), self.memory.address(), self.host.address());
        match operation {
            Kernel => self.bench.kernel(stream, 0.1),
            TinyUpload => cu!(cuMemcpyHtoDAsync_v2(device, host, TINY, stream)).result(),
            SmallUpload => cu!(cuMemcpyHtoDAsync_v2(device, host, SMALL, stream)).result(),
            Upload => cu!(cuMemcpyHtoDAsync_v2(device, host, COPY, stream)).result(),
            Download => {
                let (device, host) = (device + COPY as u64, host.wrapping_byte_add(COPY));
                cu!(cuMemcpyDtoHAsync_v2(host, device, COPY, stream)).result()
            }
        }
    }
}

/// Whether the last stream's operation waits for what the streams before it wait for.
fn last_is_delayed(
    place: &Place<'_>,
    waiting: &[&Stream],
    asked: Operation,
    last: &Stream,
    free: Operation,
) -> Result<Vec<Fact>> {
    let gate = Stream::new(KIND)?;
    let far = Event::with_flags(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
    place.bench.synchronize()?;
    let start = Event::recorded(gate.handle())?;
    place.bench.kernel(gate.handle(), MS)?;
    far.record(gate.handle())?;
    for stream in waiting {
        stream.wait(&far)?;
        place.issue(stream, asked)?;
    }
    place.issue(last, free)?;
    let end = Event::recorded(last.handle())?;
    place.bench.synchronize()?;
    Ok(vec![if end.since(&start)? > 0.75 * MS { SERIAL } else { OVERLAP }])
}

/// On streams that have done nothing before.
fn after(bench: &Bench, waiting: usize, asked: Operation, free: Operation) -> Result<Vec<Fact>> {
    let streams: Vec<Stream> = (0..=waiting).map(|_| Stream::new(KIND)).collect::<Result<_>>()?;
    let streams: Vec<&Stream> = streams.iter().collect();
    last_is_delayed(&Place::new(bench)?, &streams[..waiting], asked, streams[waiting], free)
}

/// On two of many streams that have all done the same before; the second was made so long after the first.
fn among_idle(bench: &Bench, operation: Operation, distance: usize) -> Result<Vec<Fact>> {
    let place = Place::new(bench)?;
    let streams: Vec<Stream> = (0..MANY).map(|_| Stream::new(KIND)).collect::<Result<_>>()?;
    for stream in &streams {
        place.issue(stream, operation)?;
    }
    last_is_delayed(&place, &[&streams[1]], operation, &streams[1 + distance], operation)
}

/// The most waiting streams that were tried where they delayed nobody.
const NEVER: usize = 24;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    // Whose queues; the variables; from how many waiting streams on.
    let counts: [(&[Operation], Variables, usize); 12] = [
        (&[Kernel, TinyUpload], &[], 8),
        (&[SmallUpload], &[], NEVER + 1),
        (&[Upload, Download], &[], 4),
        (&[Kernel, Upload, Download], &[(CONNECTIONS, "8")], 8),
        (&[Kernel, Upload, Download], &[(CONNECTIONS, "1")], 1),
        (&[Kernel, Upload, Download], &[(CONNECTIONS, "32")], NEVER + 1),
        (&[Kernel], &[(COPY_CONNECTIONS, "8")], 8),
        (&[Upload, Download], &[(COPY_CONNECTIONS, "8")], 8),
        (&[Kernel], &[(COPY_CONNECTIONS, "2")], 8),
        (&[Upload, Download], &[(COPY_CONNECTIONS, "2")], 2),
        (&[Kernel], &[(CONNECTIONS, "1"), (COPY_CONNECTIONS, "8")], 1),
        (&[Upload], &[(CONNECTIONS, "1"), (COPY_CONNECTIONS, "8")], 8),
    ];
    for (operations, variables, from) in counts {
        for &operation in operations {
            for waiting in [from - 1, from] {
                // None waiting asks nothing.
                if (1..=NEVER).contains(&waiting) {
                    let expect = if waiting < from { OVERLAP } else { SERIAL };
                    let what = waits(operation, waiting, operation);
                    rows.push(row(&what, variables, expect, move |bench| {
                        after(bench, waiting, operation, operation)
                    }));
                }
            }
        }
    }
    // Each direction has queues of its own, and kernels have. A small upload goes with the copies if it waits, and
    // with the kernels if it does not.
    for (free, asked, expect) in [
        (Kernel, Upload, OVERLAP),
        (Upload, Kernel, OVERLAP),
        (Upload, Download, OVERLAP),
        (Download, Upload, OVERLAP),
        (SmallUpload, Kernel, SERIAL),
        (SmallUpload, Upload, OVERLAP),
        (Kernel, SmallUpload, OVERLAP),
        (Upload, SmallUpload, SERIAL),
    ] {
        rows.push(row(&waits(free, 8, asked), &[], expect, move |bench| {
            after(bench, 8, asked, free)
        }));
    }
    for operation in [Kernel, Upload, Download] {
        let what = format!("{}, 33 streams, only two of them busy", operation.several());
        rows.push(row(&what, &[], OVERLAP, move |bench| among_idle(bench, operation, 8)));
    }
    let what = "kernels, 33 streams, only two of them busy";
    rows.push(row(what, &[(CONNECTIONS, "1")], SERIAL, |bench| among_idle(bench, Kernel, 8)));
    rows
}

type Variables = &'static [(&'static str, &'static str)];

fn waits(free: Operation, waiting: usize, asked: Operation) -> String {
    let streams = if waiting == 1 { "stream" } else { "streams" };
    format!("{} after {} that wait on {waiting} other {streams}", free.name(), asked.several())
}

fn row(
    what: &str,
    variables: Variables,
    expect: Fact,
    body: impl Fn(&Bench) -> Result<Vec<Fact>> + 'static,
) -> Row {
    let set: String = variables.iter().map(|(name, value)| format!(", {name}={value}")).collect();
    let row = Row::new(format!("work queues: {what}{set}"), &[expect], body).alone();
    variables.iter().fold(row, |row, &(name, value)| row.variable(name, value))
}
