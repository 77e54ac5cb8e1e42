//! How long `hazards::find` takes: `cargo run --release -p trace --example hazards_speed`.
//!
//! Programs of a quarter of a million steps and of a million, on 64 streams, in several shapes. The
//! time for a step should be the same for both lengths.

use std::time::Instant;

use trace::Program;
use trace::hazards;
use trace::program::{
    Access, AccessKind, BlockId, Call, EventId, KernelId, Launch, Mode, Place, Range, Site, Step,
    StreamId, StreamKind, Timing,
};

const STREAMS: u32 = 64;
const BLOCKS: u32 = 256;
const BYTES: u64 = 1 << 20;

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() {
    type Shape = fn(&mut Writer, u32);
    let shapes: [(&str, Shape); 5] = [
        ("pipeline over 64 streams", pipeline),
        ("every eighth operation in the default stream", default_stream),
        ("one block in many parts", parts),
        ("new stream, event and block each time", short_lived),
        ("nothing in order", racy),
    ];
    println!("{:<46}{:>10}{:>12}{:>12}{:>10}", "shape", "steps", "time", "per step", "hazards");
    for (name, shape) in shapes {
        for length in [250_000, 1_000_000] {
            let program = Writer::write(length, shape);
            let start = Instant::now();
            let found = hazards::find(&program);
            let took = start.elapsed();
            let steps = program.steps.len();
            let each = took.as_nanos() / steps as u128;
            let took = format!("{} ms", took.as_millis());
            println!(
                "{name:<46}{steps:>10}{took:>12}{:>12}{:>10}",
                format!("{each} ns"),
                found.len()
            );
        }
    }
}

struct Writer {
    program: Program,
    random: u64,
    streams: u32,
    events: u32,
    blocks: u32,
}

impl Writer {
    fn write(length: usize, shape: fn(&mut Self, u32)) -> Program {
        let mut writer = Self {
            program: Program::new(1),
            random: 0x9e37_79b9_7f4a_7c15,
            streams: StreamId::FIRST_CREATED,
            events: 0,
            blocks: 0,
        };
        for line in 1..=64 {
            writer.program.sites.push(Site { file: "src/lib.rs".to_owned(), line, column: None });
        }
        for number in 0..STREAMS {
            writer.stream(if number % 2 == 0 {
                StreamKind::Blocking
            } else {
                StreamKind::NonBlocking
            });
        }
        for _ in 0..BLOCKS {
            let block = writer.block();
            writer.push(Call::Alloc { block, bytes: BYTES });
        }
        for _ in 0..STREAMS {
            writer.event();
        }
        let mut turn = 0;
        while writer.program.steps.len() < length {
            shape(&mut writer, turn);
            turn += 1;
        }
        writer.program
    }

    fn push(&mut self, call: Call) {
        let site = Some(self.program.steps.len() as u32 % 64);
        self.program.steps.push(Step { call, site, thread: 0, gap_ns: 0, result: 0 });
    }

    fn stream(&mut self, kind: StreamKind) -> StreamId {
        let stream = StreamId(self.streams);
        self.streams += 1;
        self.push(Call::StreamCreate { stream, kind, priority: 0 });
        stream
    }

    fn event(&mut self) -> EventId {
        let event = EventId(self.events);
        self.events += 1;
        self.push(Call::EventCreate { event, timing: Timing::Disabled });
        event
    }

    fn block(&mut self) -> BlockId {
        self.blocks += 1;
        BlockId(self.blocks - 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % end
    }

    fn upload(&mut self, stream: StreamId, target: Range) {
        let (source, mode) = (Place::Pageable, Mode::Asynchronous);
        let target = Place::Device(target);
        self.push(Call::Copy { stream, mode, source, target, bytes: BYTES });
    }

    fn map(&mut self, stream: StreamId, range: Range) {
        let access = |kind| Access { kind, range };
        let accesses = vec![access(AccessKind::Read), access(AccessKind::Write)];
        self.launch(stream, accesses);
    }

    fn read(&mut self, stream: StreamId, range: Range) {
        self.launch(stream, vec![Access { kind: AccessKind::Read, range }]);
    }

    fn launch(&mut self, stream: StreamId, accesses: Vec<Access>) {
        self.push(Call::Launch(Launch {
            kernel: KernelId(0),
            stream,
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            units: 1,
            bytes: 1,
            accesses,
        }));
    }
}

fn existing(turn: u32) -> StreamId {
    StreamId(StreamId::FIRST_CREATED + turn % STREAMS)
}

fn whole(block: u32) -> Range {
    Range { block: BlockId(block % BLOCKS), offset: 0, bytes: BYTES }
}

fn pipeline(writer: &mut Writer, turn: u32) {
    let range = whole(turn);
    // The stream that used this block the last time round is the one that uses it now.
    let (first, second) = (existing(turn), existing(turn + 1));
    let (event, back) = (EventId(turn % STREAMS), EventId((turn + 1) % STREAMS));
    writer.upload(first, range);
    writer.push(Call::EventRecord { event, stream: first });
    writer.push(Call::StreamWait { stream: second, event });
    writer.map(second, range);
    writer.push(Call::EventRecord { event: back, stream: second });
    writer.push(Call::StreamWait { stream: first, event: back });
}

fn default_stream(writer: &mut Writer, turn: u32) {
    let stream = if turn.is_multiple_of(8) { StreamId::LEGACY } else { existing(2 * turn) };
    writer.map(stream, whole(2 * turn));
}

fn parts(writer: &mut Writer, turn: u32) {
    const PARTS: u64 = 4096;
    let offset = writer.below(PARTS) * (BYTES / PARTS);
    let range = Range { block: BlockId(0), offset, bytes: BYTES / PARTS };
    writer.map(existing(0), range);
    writer.read(existing(0), range);
    if turn.is_multiple_of(8192) {
        writer.read(existing(0), whole(0));
    }
}

fn short_lived(writer: &mut Writer, _: u32) {
    let stream = writer.stream(StreamKind::NonBlocking);
    let event = writer.event();
    let block = writer.block();
    writer.push(Call::AllocAsync { block, bytes: BYTES, stream });
    writer.upload(stream, Range { block, offset: 0, bytes: BYTES });
    writer.push(Call::EventRecord { event, stream });
    writer.push(Call::FreeAsync { block, stream });
    writer.push(Call::StreamSynchronize { stream });
    writer.push(Call::EventDestroy { event });
    writer.push(Call::StreamDestroy { stream });
}

fn racy(writer: &mut Writer, turn: u32) {
    let (stream, block) = (writer.below(u64::from(STREAMS)), writer.below(16));
    let range = whole(block as u32);
    match turn % 3 {
        0 => writer.map(existing(stream as u32), range),
        _ => writer.read(existing(stream as u32), range),
    }
}
