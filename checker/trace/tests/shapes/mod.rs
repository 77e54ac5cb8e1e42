//! Programs of any length in several shapes, to see how what they cost grows with it.

use trace::hazards;
use trace::program::{
    Access, AccessKind, BlockId, Call, ChannelId, EventId, Extent, GraphId, GraphNode, KernelId,
    Launch, Mode, Place, Program, Range, Site, Step, StreamId, StreamKind, Timing,
};

const STREAMS: u32 = 64;
const BLOCKS: u32 = 256;
const BYTES: u64 = 1 << 20;
/// Operations of a graph.
const NODES: u32 = 16;

/// One turn of a program.
pub(crate) type Shape = fn(&mut Writer, u32);

/// What they are called, and one turn of each.
pub(crate) const SHAPES: [(&str, Shape); 15] = [
    ("pipeline over 64 streams", pipeline),
    ("every eighth operation in the default stream", default_stream),
    ("one block in many parts", parts),
    ("new stream, event and block each time", short_lived),
    ("nothing in order", racy),
    ("the host fills, copies, waits and reads", host_accesses),
    ("graphs of 16 operations, beside copies", graphs),
    ("ever more pieces, all read again and again", pieces_and_readers),
    ("64 readers of one block, and then a writer", readers),
    ("pieces at odd offsets, each over two others", odd_offsets),
    ("an event for each operation, all kept", events),
    ("ever more pieces in one stream, raced for in another", raced_pieces),
    ("ever more pages that the host touched", touched_pages),
    ("an event that two threads record and wait for", threads),
    ("graphs that two threads launch", launching_threads),
];

/// Writes a program, turn by turn.
pub(crate) struct Writer {
    program: Program,
    random: u64,
    streams: u32,
    events: u32,
    blocks: u32,
    /// What is looked at as a use of memory, with those of graphs and of the host.
    accesses: usize,
}

impl Writer {
    /// A program of at least so many uses of memory.
    pub(crate) fn write(accesses: usize, shape: Shape) -> Program {
        let mut writer = Self {
            program: Program::new(1),
            random: 0x9e37_79b9_7f4a_7c15,
            streams: StreamId::FIRST_CREATED,
            events: 0,
            blocks: 0,
            accesses: 0,
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
        while writer.accesses < accesses {
            shape(&mut writer, turn);
            turn += 1;
        }
        writer.program
    }

    fn push(&mut self, call: Call) {
        self.accesses += match &call {
            Call::GraphLaunch { .. } => NODES as usize,
            Call::HostAccess { accesses, .. } => accesses.len(),
            call => usize::from(hazards::stream(call).is_some()),
        };
        let site = Some(self.program.steps.len() as u32 % 64);
        self.program.steps.push(Step { call, site, thread: 0, gap_ns: 0, result: 0, device: 0 });
    }

    fn push_by(&mut self, thread: u32, call: Call) {
        self.push(call);
        self.by_last(thread);
    }

    /// The last call is that of another thread.
    fn by_last(&mut self, thread: u32) {
        self.program.steps.last_mut().expect("there is one").thread = thread;
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
            writer.push(Call::GraphInstantiate { graph: GraphId(graph), updates: None });
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
}

/// All streams read one block; then each hands over to the first, which writes it.
fn readers(writer: &mut Writer, turn: u32) {
    let reader = turn % STREAMS;
    writer.read(existing(reader), whole(0));
    writer.push(Call::EventRecord { event: EventId(reader), stream: existing(reader) });
    if reader == STREAMS - 1 {
        for event in 0..STREAMS {
            writer.push(Call::StreamWait { stream: existing(0), event: EventId(event) });
        }
        writer.map(existing(0), whole(0));
        writer.push(Call::EventRecord { event: EventId(0), stream: existing(0) });
        for stream in 1..STREAMS {
            writer.push(Call::StreamWait { stream: existing(stream), event: EventId(0) });
        }
    }
}

fn odd_offsets(writer: &mut Writer, turn: u32) {
    const PIECES: u64 = 50_021;
    let piece = writer.below(PIECES);
    let range = Range { block: BlockId(0), offset: 7 * piece + 3, bytes: 11 };
    match turn % 4 {
        0 => writer.launch(existing(0), vec![Access { kind: AccessKind::Write, range }]),
        _ => writer.read(existing(0), range),
    }
}

fn events(writer: &mut Writer, turn: u32) {
    let (stream, next) = (existing(turn), existing(turn + 1));
    let event = writer.event();
    writer.map(stream, whole(turn % 8));
    writer.push(Call::EventRecord { event, stream });
    writer.push(Call::StreamWait { stream: next, event });
}

/// Nothing orders the reads of the second stream.
fn raced_pieces(writer: &mut Writer, turn: u32) {
    const PIECE: u64 = 8;
    let at = |piece: u64| Range { block: BlockId(0), offset: 2 * PIECE * piece, bytes: PIECE };
    let write = Access { kind: AccessKind::Write, range: at(u64::from(turn)) };
    writer.launch(existing(0), vec![write]);
    let piece = writer.below(u64::from(turn) + 1);
    writer.read(existing(1 + turn % 8), at(piece));
}

/// The host touches a page of its own each time, and copies read all that there are.
fn touched_pages(writer: &mut Writer, turn: u32) {
    const PAGE: u64 = 4096;
    let page = Range { block: BlockId(0), offset: PAGE * u64::from(turn), bytes: PAGE };
    let accesses = vec![Access { kind: AccessKind::Write, range: page }];
    writer.push(Call::HostAccess { accesses, extent: Extent::Part });
    writer.read(existing(turn), Range { offset: 0, bytes: page.offset + PAGE, ..page });
}

/// The second thread hears of each of the first one's records, and the first of nothing.
fn heard(writer: &mut Writer, turn: u32) {
    if turn == 0 {
        writer.push(Call::ThreadSpawn { thread: 1 });
        writer.push(Call::ChannelCreate { channel: ChannelId(0), capacity: None });
    }
}

fn threads(writer: &mut Writer, turn: u32) {
    heard(writer, turn);
    let (stream, event) = (existing(0), EventId(0));
    writer.map(stream, whole(turn % 2));
    writer.push(Call::EventRecord { event, stream });
    let (channel, message) = (ChannelId(0), Some(turn));
    writer.push(Call::ChannelSend { channel, message });
    writer.push_by(1, Call::ChannelReceive { channel, message });
    writer.push_by(1, Call::StreamWait { stream: existing(1), event });
    writer.read(existing(1), whole(turn % 2));
    writer.by_last(1);
}

fn launching_threads(writer: &mut Writer, turn: u32) {
    heard(writer, turn);
    if turn == 0 {
        let nodes = (0..NODES).map(|node| writer.node(0, node)).collect();
        writer.push(Call::GraphCreate { graph: GraphId(0), nodes });
        writer.push(Call::GraphInstantiate { graph: GraphId(0), updates: None });
    }
    let (channel, message) = (ChannelId(0), Some(turn));
    let launch =
        |stream| Call::GraphLaunch { graph: GraphId(0), copy: 0, stream, accesses: Vec::new() };
    writer.push(launch(existing(0)));
    writer.push(Call::ChannelSend { channel, message });
    writer.push_by(1, Call::ChannelReceive { channel, message });
    writer.push_by(1, launch(existing(1)));
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
