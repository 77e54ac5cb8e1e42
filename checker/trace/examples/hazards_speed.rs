//! How long `hazards::find` takes: `cargo run --release -p trace --example hazards_speed`.
//!
//! Programs of ten thousand operations to a million, on 64 streams, in several shapes. The slope is that of the
//! time against the operations on a log-log plot, over the two decades: 1 is linear, and it should be no more than
//! 1.1. The operations of a graph count each time that it is launched, and what the host itself does to page-locked
//! memory counts by its ranges.

use std::time::Instant;

use trace::Program;
use trace::hazards;
use trace::program::{
    Access, AccessKind, BlockId, Call, EventId, Extent, GraphId, GraphNode, KernelId, Launch, Mode,
    Place, Range, Site, Step, StreamId, StreamKind, Timing,
};

const STREAMS: u32 = 64;
const BLOCKS: u32 = 256;
const BYTES: u64 = 1 << 20;
/// Operations of a graph.
const NODES: u32 = 16;

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() {
    type Shape = fn(&mut Writer, u32);
    let shapes: [(&str, Shape); 8] = [
        ("pipeline over 64 streams", pipeline),
        ("every eighth operation in the default stream", default_stream),
        ("one block in many parts", parts),
        ("new stream, event and block each time", short_lived),
        ("nothing in order", racy),
        ("the host fills, copies, waits and reads", host_accesses),
        ("graphs of 16 operations, beside copies", graphs),
        ("ever more pieces, all read again and again", pieces_and_readers),
    ];
    println!("{:<46}{:>10}{:>12}{:>12}{:>10}", "shape", "operations", "time", "each", "hazards");
    for (name, shape) in shapes {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for length in [10_000, 100_000, 1_000_000] {
            let program = Writer::write(length, shape);
            let start = Instant::now();
            let found = hazards::find(&program);
            let took = start.elapsed();
            let took_s = took.as_secs_f64();
            let operations = operations(&program);
            let each = took.as_nanos() / operations as u128;
            let took = format!("{} ms", took.as_millis());
            println!(
                "{name:<46}{operations:>10}{took:>12}{:>12}{:>10}",
                format!("{each} ns"),
                found.len()
            );
            points.push((operations as f64, took_s));
        }
        if let (Some(first), Some(last)) = (points.first(), points.last()) {
            let slope = (last.1 / first.1).log10() / (last.0 / first.0).log10();
            println!("{:<46}{slope:>10.2}", "  slope");
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("most memory at any time, programs included: {}", peak.unwrap_or("unknown").trim());
}

/// How many there are, with those of graphs and the host's.
fn operations(program: &Program) -> usize {
    let nodes = |step: &Step| match &step.call {
        Call::GraphLaunch { .. } => NODES as usize,
        Call::HostAccess { accesses, .. } => accesses.len(),
        _ => 1,
    };
    program.steps.iter().map(nodes).sum()
}

struct Writer {
    program: Program,
    random: u64,
    streams: u32,
    events: u32,
    blocks: u32,
    /// Operations beside the steps: of graphs, and of the host.
    inside: usize,
}

impl Writer {
    fn write(length: usize, shape: fn(&mut Self, u32)) -> Program {
        let mut writer = Self {
            program: Program::new(1),
            random: 0x9e37_79b9_7f4a_7c15,
            streams: StreamId::FIRST_CREATED,
            events: 0,
            blocks: 0,
            inside: 0,
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
        while writer.program.steps.len() + writer.inside < length {
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

/// Page-locked blocks come after those of the device.
fn host_accesses(writer: &mut Writer, turn: u32) {
    if turn == 0 {
        for _ in 0..STREAMS {
            let block = writer.block();
            writer.push(Call::AllocHost { block, bytes: BYTES });
        }
    }
    let stream = existing(turn);
    let pinned = Range { block: BlockId(BLOCKS + turn % STREAMS), offset: 0, bytes: BYTES };
    let device = whole(turn % STREAMS);
    // Some of it, page by page, as the simulated device notices it.
    const PAGES: u64 = 16;
    let touches = |kind| {
        let bytes = BYTES / PAGES;
        let page = move |page| Range { offset: page * bytes, bytes, ..pinned };
        let accesses = (0..PAGES).map(|at| Access { kind, range: page(at) }).collect();
        Call::HostAccess { accesses, extent: Extent::Part }
    };
    let mode = Mode::Asynchronous;
    let (host, device) = (Place::Pinned(pinned), Place::Device(device));
    writer.push(touches(AccessKind::Write));
    writer.push(Call::Copy { stream, mode, source: host, target: device, bytes: BYTES });
    writer.push(Call::Copy { stream, mode, source: device, target: host, bytes: BYTES });
    writer.push(Call::StreamSynchronize { stream });
    writer.push(touches(AccessKind::Read));
    writer.inside += 2 * (PAGES as usize - 1);
}

/// One stream writes pieces of a block one after the other, and others read all that there are.
fn pieces_and_readers(writer: &mut Writer, turn: u32) {
    const PIECE: u64 = 8;
    let (first, reader) = (existing(0), existing(1 + turn % 8));
    let event = EventId(turn % STREAMS);
    let piece = Range { block: BlockId(0), offset: 2 * PIECE * u64::from(turn), bytes: PIECE };
    writer.launch(first, vec![Access { kind: AccessKind::Write, range: piece }]);
    writer.push(Call::EventRecord { event, stream: first });
    writer.push(Call::StreamWait { stream: reader, event });
    writer.read(reader, Range { offset: 0, bytes: piece.offset + PIECE, ..piece });
}

/// Each stream has a graph of its own, a chain of maps over one block with copies on a branch.
fn graphs(writer: &mut Writer, turn: u32) {
    if turn == 0 {
        for graph in 0..STREAMS {
            let nodes = (0..NODES).map(|node| writer.node(graph, node)).collect();
            writer.push(Call::GraphCreate { graph: GraphId(graph), nodes });
            writer.push(Call::GraphInstantiate { graph: GraphId(graph) });
        }
    }
    let stream = existing(turn);
    writer.upload(stream, whole(turn % STREAMS));
    writer.push(Call::GraphLaunch {
        graph: GraphId(turn % STREAMS),
        copy: 0,
        stream,
        accesses: Vec::new(),
    });
    writer.inside += NODES as usize - 1;
}

impl Writer {
    fn node(&mut self, graph: u32, node: u32) -> GraphNode {
        let stream = existing(graph);
        let block = if node % 4 == 3 { STREAMS + graph } else { graph };
        self.map(stream, whole(block));
        let call = self.program.steps.pop().expect("it has just been pushed").call;
        // Two branches: the chain, and every fourth node.
        let before = match node % 4 {
            3 => 4,
            0 => 2,
            _ => 1,
        };
        let after = node.checked_sub(before).into_iter().collect();
        GraphNode { call, after, site: Some(node) }
    }
}
