//! Programs in a few words, for tables.
//!
//! A script is a list of statements with `;` between them. Statement `n`, from 1, is line `n` of the
//! source. Streams are `a b c d` (non-blocking), `A B C` (blocking), `0` (the legacy default stream)
//! and `p` (the per-thread one); blocks are `x y z w` (device), `u v` (a second device) and `h i j` (pinned host), of 64 bytes,
//! or parts of them, `x[0..32]`; events are `e f g` and `r s t`. Whatever a script does not make itself is made
//! before its first statement. `#5` before a statement puts it on line 5, `@1` makes it a call of that
//! thread, `!` one that failed.
//!
//! | statement | call |
//! | --- | --- |
//! | `k a x y > z`, `map a x` | kernel that reads x and y and writes z; that reads and writes x |
//! | `up a h x`, `down a x h`, `move a x y`, `hop a h i` | copies: pinned to device and back, inside either |
//! | `peer a u x`, `access` | copy from one device to the other; the first may use what `cuMemAlloc` gave on the second |
//! | `upp a x`, `downp a x` | copies from and to pageable memory |
//! | `up! h x`, … | the same without `Async` |
//! | `set a x`, `set! x` | memset |
//! | `rec e a`, `wait a e`, `esync e`, `eq e`, `eq? e` | events; `?` is a query answered by 600 |
//! | `elapsed e f`, `drop e` | time between events; destroy an event |
//! | `sync a`, `q a`, `q? a`, `ctx` | synchronise, query |
//! | `begin`, `end`, `load`, `work` | region, module load, host work |
//! | `arrive`, `answer` | a request |
//! | `fn a`, `fn a h > i` | host function; one that reads some of h and writes some of i |
//! | `read h`, `write h`, `peek h`, `poke h` | the host itself: reads or writes all of h, or some of it |
//! | `new x`, `newa a x`, `newh h`, `free x`, `freea a x`, `freeh h` | memory |
//! | `stream a`, `kill a` | streams |
//! | `cap a`, `endcap`, `inst`, `go a 1` | capture in stream a from here on, up to here; instantiate; launch, the second copy; no number: the first |
//! | `upd 0`, `build a x` | the last graph in the place of the first copy of graph 0; a graph of a map, captured and ended at once |
//! | `spawn 1`, `done`, `join 1` | host threads |
//! | `open 0 2`, `send 0 3`, `recv 0 3` | channels: capacity; message |
//! | `shut 0`, `shut 0 2` | the last sender goes; one goes and two are left |
//! | `recv 0 none` | a receive that found all senders gone |

use std::collections::{BTreeMap, BTreeSet};

use trace::program::{
    Access, AccessKind, BlockId, Call, ChannelEnd, ChannelId, EventId, Extent, GraphId, GraphNode,
    KernelId, Launch, Mode, Place, Program, Range, Site, Step, StreamId, StreamKind, Timing,
};

const BYTES: u64 = 64;

/// The program that `script` stands for.
pub(crate) fn program(script: &str) -> Program {
    let mut writer = Writer::default();
    let statements: Vec<Vec<&str>> =
        script.split(';').map(|statement| statement.split_whitespace().collect()).collect();
    let made: BTreeSet<&str> = statements
        .iter()
        .filter(|words| matches!(words[0], "new" | "newa" | "newh" | "stream"))
        .map(|words| words[words.len() - 1])
        .collect();
    let mut seen = BTreeSet::new();
    for word in statements.iter().flatten() {
        let name = word.split('[').next().expect("a word");
        if name.len() == 1 && !made.contains(name) && seen.insert(name) {
            writer.make(name);
        }
    }
    for (line, words) in (1..).zip(&statements) {
        writer.statement(line, words);
    }
    writer.program.expect("a statement")
}

#[derive(Default)]
struct Writer {
    program: Option<Program>,
    streams: BTreeMap<String, StreamId>,
    blocks: BTreeMap<String, BlockId>,
    capture: Option<Capture>,
    made_graphs: u32,
    made_streams: u32,
    made_blocks: u32,
}

/// A capture that goes on: operations become nodes, events hand over.
#[derive(Default)]
struct Capture {
    nodes: Vec<GraphNode>,
    streams: BTreeMap<StreamId, BTreeSet<u32>>,
    events: BTreeMap<EventId, BTreeSet<u32>>,
}

impl Capture {
    fn take(&mut self, call: Call, site: Option<u32>) {
        match call {
            Call::EventRecord { event, stream } => {
                let nodes = self.streams.entry(stream).or_default().clone();
                self.events.insert(event, nodes);
            }
            Call::StreamWait { stream, event } => {
                let nodes = self.events[&event].clone();
                self.streams.entry(stream).or_default().extend(nodes);
            }
            call => {
                let stream = match &call {
                    Call::Copy { stream, .. }
                    | Call::Memset { stream, .. }
                    | Call::HostFunction { stream, .. } => *stream,
                    Call::Launch(launch) => launch.stream,
                    other => panic!("{other:?} cannot be captured"),
                };
                let node = self.nodes.len() as u32;
                let after = self.streams.insert(stream, BTreeSet::from([node])).unwrap_or_default();
                self.nodes.push(GraphNode { call, after: after.into_iter().collect(), site });
            }
        }
    }
}

impl Writer {
    fn push(&mut self, call: Call, site: Option<u32>, thread: u32, result: u32) {
        let program = self.program.get_or_insert_with(|| Program::new(1));
        program.steps.push(Step { call, site, thread, gap_ns: 0, result, device: 0 });
    }

    fn make(&mut self, name: &str) {
        let call = match name {
            "a" | "b" | "c" | "d" | "A" | "B" | "C" => self.stream_create(name),
            "x" | "y" | "z" | "w" | "u" | "v" => {
                Call::Alloc { block: self.new_block(name), bytes: BYTES }
            }
            "h" | "i" | "j" => Call::AllocHost { block: self.new_block(name), bytes: BYTES },
            "e" | "f" | "g" | "r" | "s" | "t" => {
                Call::EventCreate { event: event(name), timing: Timing::Enabled }
            }
            _ => return,
        };
        self.push(call, None, 0, 0);
    }

    fn stream_create(&mut self, name: &str) -> Call {
        let stream = StreamId(StreamId::FIRST_CREATED + self.made_streams);
        self.made_streams += 1;
        self.streams.insert(name.to_owned(), stream);
        let capital = name.chars().all(char::is_uppercase);
        let kind = if capital { StreamKind::Blocking } else { StreamKind::NonBlocking };
        Call::StreamCreate { stream, kind, priority: 0 }
    }

    fn new_block(&mut self, name: &str) -> BlockId {
        let device = u32::from(matches!(name, "u" | "v"));
        let block = BlockId::on(device, self.made_blocks);
        self.made_blocks += 1;
        self.blocks.insert(name.to_owned(), block);
        block
    }

    fn stream(&self, name: &str) -> StreamId {
        match name {
            "0" => StreamId::LEGACY,
            "p" => StreamId::PER_THREAD,
            _ => self.streams[name],
        }
    }

    fn range(&self, word: &str) -> Range {
        let (name, part) = word.split_once('[').unwrap_or((word, "0..64]"));
        let (from, to) = part.trim_end_matches(']').split_once("..").expect("a range");
        let (from, to): (u64, u64) = (from.parse().expect("bytes"), to.parse().expect("bytes"));
        Range { block: self.blocks[name], offset: from, bytes: to - from }
    }

    fn place(&self, word: &str) -> Place {
        let pinned = word.starts_with(['h', 'i', 'j']);
        let range = self.range(word);
        if pinned { Place::Pinned(range) } else { Place::Device(range) }
    }

    fn statement(&mut self, line: u32, words: &[&str]) {
        let mut words = words;
        let (mut line, mut thread, mut result) = (line, 0, 0);
        if let Some(number) = words[0].strip_prefix('#') {
            line = number.parse().expect("a line");
            words = &words[1..];
        }
        if let Some(number) = words[0].strip_prefix('@') {
            thread = number.parse().expect("a thread");
            words = &words[1..];
        }
        if words[0] == "!" {
            result = 1;
            words = &words[1..];
        }
        if words[0].ends_with('?') {
            result = 600;
        }
        let program = self.program.get_or_insert_with(|| Program::new(1));
        let new = Site { file: "src/lib.rs".to_owned(), line, column: None };
        let known = program.sites.iter().position(|site| *site == new);
        let site = known.unwrap_or(program.sites.len()) as u32;
        if known.is_none() {
            program.sites.push(new);
        }
        if words[0] == "cap" {
            self.capture = Some(Capture::default());
            return;
        }
        let call = self.call(words[0].trim_end_matches('?'), &words[1..]);
        if let Some(capture) = &mut self.capture {
            capture.take(call, Some(site));
            return;
        }
        self.push(call, Some(site), thread, result);
    }

    fn call(&mut self, verb: &str, of: &[&str]) -> Call {
        if let Some(copy) = self.copy(verb, of) {
            return copy;
        }
        match verb {
            "k" => {
                let arrow = of.iter().position(|&word| word == ">").expect("an arrow");
                self.launch(of[0], &of[1..arrow], &of[arrow + 1..])
            }
            "map" => self.launch(of[0], &of[1..], &of[1..]),
            "set" | "set!" => {
                let (mode, stream) = mode(verb, of);
                let target = self.range(of[of.len() - 1]);
                Call::Memset { stream: self.stream(stream), mode, target }
            }
            "rec" => Call::EventRecord { event: event(of[0]), stream: self.stream(of[1]) },
            "wait" => Call::StreamWait { stream: self.stream(of[0]), event: event(of[1]) },
            "esync" => Call::EventSynchronize { event: event(of[0]) },
            "eq" => Call::EventQuery { event: event(of[0]) },
            "elapsed" => Call::EventElapsed { start: event(of[0]), end: event(of[1]) },
            "drop" => Call::EventDestroy { event: event(of[0]) },
            "sync" => Call::StreamSynchronize { stream: self.stream(of[0]) },
            "q" => Call::StreamQuery { stream: self.stream(of[0]) },
            "ctx" => Call::ContextSynchronize,
            "begin" => Call::RegionBegin,
            "end" => Call::RegionEnd,
            "load" => Call::ModuleLoad,
            "unload" => Call::ModuleUnload,
            "access" => Call::PeerAccess { by: 0, pool: false, enabled: true },
            "endcap" => {
                let nodes = self.capture.take().expect("a capture").nodes;
                self.made_graphs += 1;
                Call::GraphCreate { graph: GraphId(self.made_graphs - 1), nodes }
            }
            // A graph of one kernel, captured and ended at once.
            "build" => {
                let call = self.launch(of[0], &of[1..], &of[1..]);
                self.made_graphs += 1;
                let nodes = vec![GraphNode { call, after: Vec::new(), site: None }];
                Call::GraphCreate { graph: GraphId(self.made_graphs - 1), nodes }
            }
            "inst" => {
                Call::GraphInstantiate { graph: GraphId(self.made_graphs - 1), updates: None }
            }
            // The last graph in the place of a copy of an earlier one, which comes first.
            "upd" => Call::GraphInstantiate {
                graph: GraphId(self.made_graphs - 1),
                updates: Some((GraphId(of[0].parse().expect("a graph")), 0)),
            },
            "go" => Call::GraphLaunch {
                graph: GraphId(self.made_graphs - 1),
                copy: of.get(1).map_or(0, |copy| copy.parse().expect("a number")),
                stream: self.stream(of[0]),
                accesses: Vec::new(),
            },
            "fn" => {
                let arrow = of.iter().position(|&word| word == ">").unwrap_or(of.len());
                let writes = of.get(arrow + 1..).unwrap_or_default();
                let accesses = self.accesses(&of[1..arrow], writes);
                Call::HostFunction { stream: self.stream(of[0]), accesses }
            }
            "read" | "peek" => Call::HostAccess {
                accesses: self.accesses(of, &[]),
                extent: if verb == "read" { Extent::Whole } else { Extent::Part },
            },
            "write" | "poke" => Call::HostAccess {
                accesses: self.accesses(&[], of),
                extent: if verb == "write" { Extent::Whole } else { Extent::Part },
            },
            "work" => Call::HostWork { ns: 1, target: None },
            "arrive" => Call::Arrival { request: 0, at_ns: 0 },
            "answer" => Call::Answer { request: 0 },
            "new" => Call::Alloc { block: self.new_block(of[0]), bytes: BYTES },
            "newh" => Call::AllocHost { block: self.new_block(of[0]), bytes: BYTES },
            "newa" => Call::AllocAsync {
                stream: self.stream(of[0]),
                block: self.new_block(of[1]),
                bytes: BYTES,
            },
            "free" => Call::Free { block: self.blocks[of[0]] },
            "freeh" => Call::FreeHost { block: self.blocks[of[0]] },
            "freea" => Call::FreeAsync { stream: self.stream(of[0]), block: self.blocks[of[1]] },
            "stream" => self.stream_create(of[0]),
            "spawn" => Call::ThreadSpawn { thread: of[0].parse().expect("a thread") },
            "done" => Call::ThreadEnd,
            "join" => Call::ThreadJoin { thread: of[0].parse().expect("a thread") },
            "open" => Call::ChannelCreate { channel: channel(of[0]), capacity: of[1].parse().ok() },
            "send" => Call::ChannelSend { channel: channel(of[0]), message: of[1].parse().ok() },
            "recv" => Call::ChannelReceive { channel: channel(of[0]), message: of[1].parse().ok() },
            "shut" => Call::ChannelClose {
                channel: channel(of[0]),
                end: ChannelEnd::Sender,
                left: of.get(1).map_or(0, |left| left.parse().expect("a number")),
            },
            "kill" => Call::StreamDestroy { stream: self.stream(of[0]) },
            other => panic!("`{other}` is no statement"),
        }
    }

    fn copy(&self, verb: &str, of: &[&str]) -> Option<Call> {
        let (mode, stream) = mode(verb, of);
        let ends = if mode == Mode::Synchronous { of } else { of.get(1..)? };
        let (source, target) = match verb.trim_end_matches('!') {
            "up" | "down" | "move" | "hop" | "peer" => (self.place(ends[0]), self.place(ends[1])),
            "upp" => (Place::Pageable, self.place(ends[0])),
            "downp" => (self.place(ends[0]), Place::Pageable),
            _ => return None,
        };
        let bytes = match (source, target) {
            (Place::Device(range) | Place::Pinned(range), _) | (_, Place::Device(range)) => {
                range.bytes
            }
            _ => unreachable!("one end has a range"),
        };
        Some(Call::Copy { stream: self.stream(stream), mode, source, target, bytes })
    }

    fn accesses(&self, reads: &[&str], writes: &[&str]) -> Vec<Access> {
        let access = |kind| move |word: &&str| Access { kind, range: self.range(word) };
        let reads = reads.iter().map(access(AccessKind::Read));
        reads.chain(writes.iter().map(access(AccessKind::Write))).collect()
    }

    fn launch(&self, stream: &str, reads: &[&str], writes: &[&str]) -> Call {
        Call::Launch(Launch {
            kernel: KernelId(0),
            stream: self.stream(stream),
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            units: 1,
            bytes: 1,
            accesses: self.accesses(reads, writes),
        })
    }
}

fn mode<'a>(verb: &str, of: &[&'a str]) -> (Mode, &'a str) {
    match verb.ends_with('!') {
        true => (Mode::Synchronous, "0"),
        false => (Mode::Asynchronous, of.first().copied().unwrap_or("0")),
    }
}

fn channel(word: &str) -> ChannelId {
    ChannelId(word.parse().expect("a channel"))
}

fn event(name: &str) -> EventId {
    EventId(
        ["e", "f", "g", "r", "s", "t"].iter().position(|&known| known == name).expect("an event")
            as u32,
    )
}

/// The same program beside work on a second device that has nothing to do with it: in a stream, in its default stream, and
/// with waits for its context.
pub(crate) fn beside_another_device(program: &Program, seed: u64) -> Program {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut both = program.clone();
    let (stream, block) = (StreamId::on(1, StreamId::FIRST_CREATED), BlockId::on(1, 0));
    let step = |call| Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 1 };
    let write = |stream| {
        let target = Range { block, offset: 0, bytes: 64 };
        Call::Memset { stream, mode: Mode::Asynchronous, target }
    };
    for _ in 0..4 + below(8) {
        let at = below(both.steps.len() as u64 + 1) as usize;
        let call = match below(4) {
            0 => Call::ContextSynchronize,
            1 => write(StreamId::on(1, 0)),
            _ => write(stream),
        };
        both.steps.insert(at, step(call));
    }
    let kind = StreamKind::Blocking;
    let begin =
        [Call::StreamCreate { stream, kind, priority: 0 }, Call::Alloc { block, bytes: 64 }];
    both.steps.splice(0..0, begin.map(step));
    both
}
