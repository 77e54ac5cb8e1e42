//! All of judging, over programs as students write them and as nobody would: what they record, and then the
//! hazards, the causes, the advice, the drawings and every sentence of the report. Nothing in there may panic,
//! whatever a program did; a grade does not depend on how odd somebody's calls are.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use simulator::machine::{
    Address, Command, ContextCommand, EventCommand, GraphCommand, Machine, MemoryCommand,
    ModuleCommand, Reply, Request, StreamCommand, WorkCommand,
};
use simulator::{Schedule, advice};
use trace::lab_protocol::{self, Pass, Region};
use trace::program::{BlockId, Call, Mode, Program, Site, Step, StreamId, StreamKind, Timing};
use trace::record::Record;
use trace::{Metrics, causes, draw, hazards, validity};

use crate::process::{HEAP, Kernels, Process};
use crate::program::h200;
use crate::properties::Dice;

/// Something that a program asks for. Numbers stand for what there is then, from the first on and around again.
#[derive(Clone, Copy, Debug)]
enum Ask {
    NewStream(StreamKind),
    DropStream(u64),
    NewEvent,
    DropEvent(u64),
    Record(u64, u64),
    Wait(u64, u64),
    Sync(u64),
    SyncEvent(u64),
    Query(u64),
    SyncAll,
    Alloc,
    AllocAsync(u64),
    Free(u64),
    FreeAsync(u64, u64),
    Pin,
    Unpin(u64),
    Up { stream: u64, block: u64, pinned: bool, part: u64, mode: Mode },
    Down { stream: u64, block: u64, pinned: bool, part: u64, mode: Mode },
    Kernel { stream: u64, source: u64, target: u64, part: u64 },
    Spin { stream: u64, units: u64 },
    Set(u64, u64),
    HostFunction(u64),
    Work(u64),
    Module,
    Capture(u64),
    EndCapture(u64),
    Instantiate,
    Launch(u64),
    Begin,
    End,
}

const PARTS: u64 = 8;
const PART_BYTES: u64 = 1024;

/// What there is of each kind, and who answers.
struct Player {
    machine: Machine,
    process: Process,
    streams: Vec<u64>,
    events: Vec<u64>,
    blocks: Vec<u64>,
    pinned: Vec<u64>,
    graphs: Vec<u64>,
    executables: Vec<u64>,
    functions: Vec<u64>,
    line: u32,
}

fn one_of(list: &[u64], number: u64) -> Option<u64> {
    list.get((number % list.len().max(1) as u64) as usize).copied()
}

impl Player {
    fn new(schedule: Schedule) -> Self {
        let mut player = Self {
            machine: Machine::new(h200(), schedule, Box::new(Kernels)),
            process: Process::new(),
            streams: Vec::new(),
            events: Vec::new(),
            blocks: Vec::new(),
            pinned: Vec::new(),
            graphs: Vec::new(),
            executables: Vec::new(),
            functions: Vec::new(),
            line: 0,
        };
        for line in 1..=60 {
            let site = Site { file: "src/lib.rs".to_owned(), line, column: Some(5) };
            player.say(Command::Site(site));
        }
        let module = player.say(Command::Module(ModuleCommand::Load {
            entries: vec!["touch".into(), "spin".into()],
        }));
        for name in ["touch", "spin"] {
            let name = name.to_owned();
            let function = player.say(Command::Module(ModuleCommand::FunctionGet {
                module: module.unwrap_or(0),
                name,
            }));
            player.functions.extend(function);
        }
        player
    }

    fn say(&mut self, command: Command) -> Option<u64> {
        let site = (self.line > 0).then_some(self.line % 60);
        let reply = self
            .machine
            .execute(&Request { command, site, thread: 0, device: 0 }, &mut self.process);
        match reply {
            Reply::Number(number) => Some(number),
            Reply::Entry { function, .. } => Some(function),
            _ => None,
        }
    }

    /// The default stream where there is no other, and now and then where there is.
    fn stream(&self, number: u64) -> u64 {
        match number {
            97 => 0,
            98 => 2,
            _ => one_of(&self.streams, number).unwrap_or(0),
        }
    }

    fn host(&self, block: u64, pinned: bool, part: u64) -> Address {
        match one_of(&self.pinned, block).filter(|_| pinned) {
            Some(offset) => Address::Pinned(offset + part * PART_BYTES),
            None => Address::Pageable(HEAP.start + part * PART_BYTES),
        }
    }

    fn ask(&mut self, line: u32, ask: Ask) {
        self.line = line + 1;
        let block = |player: &Self, number| one_of(&player.blocks, number).unwrap_or(0);
        let stream = |player: &Self, number| player.stream(number);
        let event = |player: &Self, number| one_of(&player.events, number).unwrap_or(0);
        let command = match ask {
            Ask::NewStream(kind) => {
                let new = self.say(Command::Stream(StreamCommand::Create { kind, priority: 0 }));
                return self.streams.extend(new);
            }
            Ask::NewEvent => {
                let new =
                    self.say(Command::Event(EventCommand::Create { timing: Timing::Disabled }));
                return self.events.extend(new);
            }
            Ask::Alloc => {
                let new =
                    self.say(Command::Memory(MemoryCommand::Alloc { bytes: PARTS * PART_BYTES }));
                return self.blocks.extend(new);
            }
            Ask::AllocAsync(on) => {
                let stream = self.stream(on);
                let new = self.say(Command::Memory(MemoryCommand::AllocAsync {
                    bytes: PARTS * PART_BYTES,
                    stream,
                }));
                return self.blocks.extend(new);
            }
            Ask::Pin => {
                let new = self
                    .say(Command::Memory(MemoryCommand::AllocHost { bytes: PARTS * PART_BYTES }));
                return self.pinned.extend(new);
            }
            Ask::EndCapture(on) => {
                let stream = self.stream(on);
                let new = self.say(Command::Graph(GraphCommand::EndCapture { stream }));
                return self.graphs.extend(new);
            }
            Ask::Instantiate => {
                let graph = self.graphs.last().copied().unwrap_or(0);
                let new = self.say(Command::Graph(GraphCommand::Instantiate { graph, flags: 0 }));
                return self.executables.extend(new);
            }
            Ask::Capture(on) => {
                Command::Graph(GraphCommand::BeginCapture { stream: stream(self, on), mode: 2 })
            }
            Ask::Launch(on) => Command::Graph(GraphCommand::Launch {
                executable: self.executables.last().copied().unwrap_or(0),
                stream: stream(self, on),
            }),
            Ask::DropStream(of) => {
                Command::Stream(StreamCommand::Destroy { stream: stream(self, of) })
            }
            Ask::DropEvent(of) => Command::Event(EventCommand::Destroy { event: event(self, of) }),
            Ask::Record(of, on) => Command::Event(EventCommand::Record {
                event: event(self, of),
                stream: stream(self, on),
            }),
            Ask::Wait(on, of) => Command::Stream(StreamCommand::Wait {
                stream: stream(self, on),
                event: event(self, of),
            }),
            Ask::Sync(of) => {
                Command::Stream(StreamCommand::Synchronize { stream: stream(self, of) })
            }
            Ask::SyncEvent(of) => {
                Command::Event(EventCommand::Synchronize { event: event(self, of) })
            }
            Ask::Query(of) => Command::Stream(StreamCommand::Query { stream: stream(self, of) }),
            Ask::SyncAll => Command::Context(ContextCommand::Synchronize),
            Ask::Free(of) => Command::Memory(MemoryCommand::Free { address: block(self, of) }),
            Ask::FreeAsync(of, on) => Command::Memory(MemoryCommand::FreeAsync {
                address: block(self, of),
                stream: stream(self, on),
            }),
            Ask::Unpin(of) => Command::Memory(MemoryCommand::FreeHost {
                offset: one_of(&self.pinned, of).unwrap_or(u64::MAX),
            }),
            Ask::Up { stream: on, block: of, pinned, part, mode } => {
                Command::Work(WorkCommand::Copy {
                    stream: stream(self, on),
                    mode,
                    source: self.host(of, pinned, part),
                    target: Address::Device(block(self, of) + part * PART_BYTES),
                    bytes: PART_BYTES,
                })
            }
            Ask::Down { stream: on, block: of, pinned, part, mode } => {
                Command::Work(WorkCommand::Copy {
                    stream: stream(self, on),
                    mode,
                    source: Address::Device(block(self, of) + part * PART_BYTES),
                    target: self.host(of + 1, pinned, part),
                    bytes: PART_BYTES,
                })
            }
            Ask::Kernel { stream: on, source, target, part } => {
                let [source, target] =
                    [source, target].map(|of| block(self, of) + part * PART_BYTES);
                Command::Work(WorkCommand::Launch {
                    function: self.functions[0],
                    grid: [256, 1, 1],
                    block: [256, 1, 1],
                    shared_bytes: 0,
                    stream: stream(self, on),
                    arguments: [source, target, PART_BYTES].map(u64::to_le_bytes).concat().into(),
                })
            }
            Ask::Spin { stream: on, units } => Command::Work(WorkCommand::Launch {
                function: self.functions[1],
                grid: [32, 1, 1],
                block: [64, 1, 1],
                shared_bytes: 0,
                stream: stream(self, on),
                arguments: units.to_le_bytes().to_vec().into(),
            }),
            Ask::Set(of, on) => Command::Work(WorkCommand::Memset {
                stream: stream(self, on),
                mode: Mode::Asynchronous,
                target: block(self, of),
                pattern: 7,
                width: 4,
                count: PART_BYTES,
            }),
            Ask::HostFunction(on) => Command::Work(WorkCommand::HostFunction {
                stream: stream(self, on),
                function: 1,
                data: 2,
            }),
            Ask::Work(ns) => Command::Lab(lab_protocol::Request::HostWork { ns, asking_ns: 0 }),
            Ask::Module => {
                Command::Module(ModuleCommand::Load { entries: vec!["touch".to_owned()] })
            }
            Ask::Begin => Command::Lab(lab_protocol::Request::RegionBegin(Region {
                name: String::new(),
                task: String::new(),
                seed: 1,
                pass: Pass::Counts,
                inputs: Vec::new(),
                outputs: Vec::new(),
            })),
            Ask::End => Command::Lab(lab_protocol::Request::RegionEnd),
        };
        self.say(command);
    }
}

/// A pipeline of chunks, one way or another: right more often than not.
fn student(seed: u64) -> Vec<Ask> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let chunks = 1 + dice.below(12);
    let streams = dice.below(4);
    let slots = 1 + dice.below(3);
    let oddity = [6, 20, 1000][dice.below(3) as usize];
    let pinned = dice.below(3) > 0;
    let has_late_streams = dice.below(4) == 0;
    let has_late_memory = dice.below(5) == 0;
    let waits_each = dice.below(4) == 0;
    let has_graph = dice.below(5) == 0;
    let mut asks = Vec::new();
    let kind = if dice.below(3) == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking };
    if !has_late_streams {
        asks.extend((0..streams).map(|_| Ask::NewStream(kind)));
    }
    if !has_late_memory {
        asks.extend((0..slots).flat_map(|_| [Ask::Alloc, Ask::Pin]));
    }
    asks.extend((0..2 * chunks).map(|_| Ask::NewEvent));
    if has_graph {
        asks.push(Ask::NewStream(StreamKind::NonBlocking));
        asks.push(Ask::Capture(0));
        for part in 0..1 + dice.below(4) {
            asks.push(Ask::Kernel { stream: 0, source: 0, target: 0, part });
        }
        asks.extend([Ask::EndCapture(0), Ask::Instantiate]);
    }
    asks.push(Ask::Begin);
    if has_late_memory {
        asks.extend((0..slots).flat_map(|_| [Ask::Alloc, Ask::Pin]));
    }
    for chunk in 0..chunks {
        let block = dice.below(slots);
        let part = chunk % PARTS;
        let mode = if dice.below(5) == 0 { Mode::Synchronous } else { Mode::Asynchronous };
        let [up, map, down] = match dice.below(2) {
            0 => [chunk; 3],
            _ => [0, 1, 2],
        };
        if has_late_streams && (chunk == 0 || dice.below(2) == 0) {
            asks.push(Ask::NewStream(kind));
        }
        asks.push(Ask::Up { stream: up, block, pinned, part, mode });
        if has_late_streams && dice.below(2) == 0 {
            asks.push(Ask::NewStream(kind));
        }
        if dice.below(8) > 0 {
            asks.extend([Ask::Record(2 * chunk, up), Ask::Wait(map, 2 * chunk)]);
        }
        let target = if dice.below(2) == 0 { block } else { block + 1 };
        asks.push(Ask::Kernel { stream: map, source: block, target, part });
        if dice.below(8) > 0 {
            asks.extend([Ask::Record(2 * chunk + 1, map), Ask::Wait(down, 2 * chunk + 1)]);
        }
        asks.push(Ask::Down { stream: down, block: target, pinned, part, mode });
        if waits_each {
            asks.push(Ask::Sync(down));
        }
        if has_graph && dice.below(2) == 0 {
            asks.push(Ask::Launch(dice.below(3)));
        }
        if dice.below(oddity) == 0 {
            asks.push(odd(&mut dice));
        }
    }
    asks.push(Ask::SyncAll);
    if dice.below(oddity) == 0 {
        asks.push(odd(&mut dice));
    }
    asks.push(Ask::End);
    asks
}

fn odd(dice: &mut Dice) -> Ask {
    let (one, other) = (dice.below(100), dice.below(100));
    let part = dice.below(PARTS);
    let mode = if dice.below(2) == 0 { Mode::Synchronous } else { Mode::Asynchronous };
    let pinned = dice.below(2) == 0;
    let ns = [0, 1000, 1_000_000, 50_000_000, 1 << 40, 1 << 60, u64::MAX];
    match dice.below(26) {
        0 => Ask::NewStream(StreamKind::Blocking),
        1 => Ask::DropStream(one),
        2 => Ask::NewEvent,
        3 => Ask::DropEvent(one),
        4 => Ask::Record(one, other),
        5 => Ask::Wait(one, other),
        6 => Ask::Sync(one),
        7 => Ask::SyncEvent(one),
        8 => Ask::Query(one),
        9 => Ask::SyncAll,
        10 => Ask::Alloc,
        11 => Ask::AllocAsync(one),
        12 => Ask::Free(one),
        13 => Ask::FreeAsync(one, other),
        14 => Ask::Pin,
        15 => Ask::Unpin(one),
        16 => Ask::Up { stream: one, block: other, pinned, part, mode },
        17 => Ask::Down { stream: one, block: other, pinned, part, mode },
        18 => Ask::Kernel { stream: one, source: other, target: other + 1, part },
        19 => Ask::Spin { stream: one, units: dice.below(1 << 62) >> dice.below(62) },
        20 => Ask::Set(one, other),
        21 => Ask::HostFunction(one),
        22 | 23 => Ask::Work(ns[dice.below(ns.len() as u64) as usize]),
        24 => Ask::Launch(one),
        _ => Ask::Module,
    }
}

/// A program in which some lines are missing, there twice, somewhere else, or something else.
fn mutated(seed: u64) -> Vec<Ask> {
    let mut asks = student(seed / 4);
    let mut dice = Dice(seed.wrapping_mul(0xd134_2543_de82_ef95) | 1);
    for _ in 0..1 + dice.below(5) {
        let at = dice.below(asks.len() as u64) as usize;
        let to = dice.below(asks.len() as u64) as usize;
        match dice.below(5) {
            0 => drop(asks.remove(at)),
            1 => asks.insert(at, asks[to]),
            2 => asks.swap(at, to),
            3 => asks.insert(at, odd(&mut dice)),
            _ => asks[at] = odd(&mut dice),
        }
        if asks.is_empty() {
            asks.push(Ask::SyncAll);
        }
    }
    asks
}

fn record(asks: &[Ask], schedule: Schedule) -> Record {
    let mut player = Player::new(schedule);
    for (index, ask) in asks.iter().enumerate() {
        // Chunks are of the same few lines.
        player.ask((index % 50) as u32, *ask);
    }
    player.say(Command::Context(ContextCommand::Synchronize));
    player.machine.record()
}

/// Everything that is said about a run; what is drawn and written is as long as it is.
fn judged(record: &Record) -> (String, bool) {
    let Record { program, timeline, .. } = record;
    validity::check(program).expect("what was recorded is valid");
    let mut text = String::new();
    let hazards = hazards::find(program);
    for hazard in &hazards {
        text.push_str(&hazard.message());
        text.push_str(&serde_json::to_string(hazard).expect("a hazard can be written"));
    }
    let found = causes::find(program, timeline);
    let advised = advice::advise(program, found, &h200(), &|_| true);
    for cause in &advised.causes {
        write!(text, "{} {}", cause.message(), cause.help()).expect("memory takes what is written");
    }
    for advice in &advised.advice {
        text.push_str(&advice.message());
    }
    if let Some(refused) = &advised.refused {
        text.push_str(&refused.message());
    }
    text.push_str(&serde_json::to_string(&Metrics::of(timeline)).expect("metrics can be written"));
    let panels = [draw::Panel { title: "it", timeline, program: Some(program) }];
    let findings = [draw::Findings { hazards: &hazards, causes: &advised.causes }];
    for lanes in [draw::Lanes::Streams, draw::Lanes::Engines] {
        let layout = draw::Layout::with_findings(&panels, lanes, &findings);
        text.push_str(&draw::svg(&layout, "it"));
        text.push_str(&draw::terminal(&layout, 100, draw::Style::Plain));
    }
    (text, !advised.advice.is_empty())
}

/// Judges so many programs, on all processors, and says how many of them had a hazard and how many got advice.
fn judge_all(count: u64, write: fn(u64) -> Vec<Ask>) -> (u64, u64) {
    let parts = std::thread::available_parallelism().map_or(1, |it| it.get() as u64);
    std::thread::scope(|scope| {
        let part = |part| scope.spawn(move || judge((part..count).step_by(parts as usize), write));
        let parts: Vec<_> = (0..parts).map(part).collect();
        let judged = parts.into_iter().map(|part| match part.join() {
            Ok(judged) => judged,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        judged.fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1))
    })
}

fn judge(seeds: impl Iterator<Item = u64>, write: fn(u64) -> Vec<Ask>) -> (u64, u64) {
    let (mut racy, mut advised) = (0, 0);
    for seed in seeds {
        let asks = write(seed);
        let schedule = if seed % 4 == 3 { Schedule::Perturbed(seed) } else { Schedule::Exact };
        let judge = |asks: &[Ask]| {
            catch_unwind(AssertUnwindSafe(|| {
                let record = record(asks, schedule);
                (judged(&record), hazards::find(&record.program).is_empty())
            }))
        };
        match judge(&asks) {
            Ok(((text, has_advice), is_clean)) => {
                assert!(text.len() < 16 << 20, "seed {seed}: a report of {} bytes", text.len());
                racy += u64::from(!is_clean);
                advised += u64::from(has_advice);
            }
            Err(_) => {
                let mut fewest = asks;
                while let Some(at) = (0..fewest.len()).find(|&at| {
                    let fewer = [&fewest[..at], &fewest[at + 1..]].concat();
                    judge(&fewer).is_err()
                }) {
                    fewest.remove(at);
                }
                panic!("seed {seed}: judging panics after\n{fewest:#?}");
            }
        }
    }
    (racy, advised)
}

#[test]
fn judging_ninety_programs_of_students_never_panics() {
    let (racy, advised) = judge_all(60, student);
    assert!(racy > 3 && advised > 3, "{racy} {advised}");
    judge_all(30, mutated);
}

#[test]
#[ignore = "nightly: minutes"]
fn judging_20_000_programs_of_students_and_2_000_that_were_changed_never_panics() {
    let (racy, advised) = judge_all(20_000, student);
    assert!(racy > 1000 && advised > 1000, "{racy} {advised}");
    judge_all(2_000, mutated);
}

#[test]
fn a_host_function_may_use_memory_that_is_newer_than_its_place_in_the_stream() {
    let asks = [Ask::HostFunction(0), Ask::Pin];
    assert_eq!(validity::check(&record(&asks, Schedule::Exact).program), Ok(()));
}

/// Two chunks through three streams, each of which is created just before it is used, in the region.
fn creates_streams_on_the_way() -> Vec<Ask> {
    let mut asks = vec![Ask::Alloc, Ask::Pin];
    asks.extend((0..4).map(|_| Ask::NewEvent));
    asks.push(Ask::Begin);
    let mode = Mode::Asynchronous;
    for chunk in 0..2 {
        let stream = 3 * chunk;
        let (block, pinned, part) = (0, true, chunk);
        asks.push(Ask::NewStream(StreamKind::NonBlocking));
        asks.push(Ask::Up { stream, block, pinned, part, mode });
        asks.push(Ask::NewStream(StreamKind::NonBlocking));
        asks.extend([Ask::Record(2 * chunk, stream), Ask::Wait(stream + 1, 2 * chunk)]);
        asks.push(Ask::Kernel { stream: stream + 1, source: 0, target: 0, part });
        asks.push(Ask::NewStream(StreamKind::NonBlocking));
        asks.extend([Ask::Record(2 * chunk + 1, stream + 1), Ask::Wait(stream + 2, 2 * chunk + 1)]);
        asks.push(Ask::Down { stream: stream + 2, block, pinned, part, mode });
    }
    asks.extend([Ask::SyncAll, Ask::End]);
    asks
}

#[test]
fn a_change_that_would_create_a_stream_twice_is_not_simulated_and_gives_no_advice() {
    let mut player = Player::new(Schedule::Exact);
    for (index, ask) in (0..).zip(creates_streams_on_the_way()) {
        // Both chunks are of the same lines.
        player.ask(if index >= 7 { 7 + (index - 7) % 9 } else { index }, ask);
    }
    let Record { program, timeline, .. } = player.machine.record();
    assert_eq!(validity::check(&program), Ok(()));
    assert_eq!(hazards::find(&program), []);
    let found = causes::find(&program, &timeline);
    let advised = advice::advise(&program, found, &h200(), &|_| true);
    let cuts = |it: &advice::Advice| matches!(it.change, advice::Change::Chunks { .. });
    assert!(!advised.advice.iter().any(cuts), "{:?}", advised.advice);
    // The same program with a step of its region made twice, as such a change does.
    let mut twice = program.clone();
    let at = twice
        .steps
        .iter()
        .rposition(|step| matches!(step.call, trace::program::Call::StreamCreate { .. }));
    let step = twice.steps[at.expect("there are six")].clone();
    twice.steps.insert(at.expect("there are six") + 1, step);
    assert!(simulator::replay_changed(&twice, &h200(), Schedule::Exact).is_err());
}

/// Threads come to their calls by time, which a change may turn round: what was valid in the order of the steps is
/// not valid then.
#[test]
fn a_change_after_which_a_thread_uses_what_another_has_not_created_yet_is_not_simulated() {
    let played = |work_ns: u64| {
        let stream = StreamId(StreamId::FIRST_CREATED);
        let created = Call::StreamCreate { stream, kind: StreamKind::NonBlocking, priority: 0 };
        let steps = [
            (0, Call::ThreadSpawn { thread: 1 }),
            (1, Call::HostWork { ns: work_ns, target: None }),
            (1, created),
            (1, Call::ThreadEnd),
            // Which takes a while, and not the core that the other works on.
            (0, Call::AllocHost { block: BlockId(0), bytes: 1 << 22 }),
            (0, Call::StreamSynchronize { stream }),
            (0, Call::ThreadJoin { thread: 1 }),
        ];
        let mut program = Program::new(1);
        for (thread, call) in steps {
            program.steps.push(Step { call, site: None, thread, gap_ns: 0, result: 0, device: 0 });
        }
        assert_eq!(validity::check(&program), Ok(()));
        simulator::replay_changed(&program, &h200(), Schedule::Exact).map(|_| ())
    };
    assert_eq!(played(1_000), Ok(()));
    let flaw = played(2_000_000).map_err(|invalid| invalid.to_string());
    assert_eq!(flaw, Err("step 5 uses stream 2, which does not exist".to_owned()));
}

#[test]
fn a_graph_that_was_captured_before_its_memory_was_there_uses_what_is_there_when_it_is_launched() {
    let mut player = Player::new(Schedule::Exact);
    let mut line = 0;
    let mut ask = |player: &mut Player, ask| {
        line += 1;
        player.ask(line, ask);
    };
    ask(&mut player, Ask::NewStream(StreamKind::NonBlocking));
    ask(&mut player, Ask::NewStream(StreamKind::NonBlocking));
    ask(&mut player, Ask::AllocAsync(0));
    ask(&mut player, Ask::FreeAsync(0, 0));
    ask(&mut player, Ask::Capture(0));
    ask(&mut player, Ask::Kernel { stream: 0, source: 0, target: 0, part: 0 });
    ask(&mut player, Ask::EndCapture(0));
    ask(&mut player, Ask::Instantiate);
    // The pool gives out the same addresses again.
    ask(&mut player, Ask::AllocAsync(0));
    assert_eq!(player.blocks[0], player.blocks[1]);
    ask(&mut player, Ask::Launch(0));
    ask(&mut player, Ask::Kernel { stream: 1, source: 1, target: 1, part: 0 });
    let found = hazards::find(&player.machine.record().program);
    let said: Vec<String> = found.iter().map(hazards::Hazard::message).collect();
    let is_race = |it: &&hazards::Hazard| it.code == hazards::Code::ReadAfterWrite;
    assert_eq!(found.iter().filter(is_race).count(), 1, "{said:#?}");
    let race = found.iter().find(is_race).expect("it has just been counted");
    // The kernel's own line, and the line of the launch: there something can be done.
    let lines = [&race.first.call.site, &race.first.call.launched];
    let lines = lines.map(|site| site.as_ref().expect("a line").line);
    assert_eq!(lines, [8, 12], "{said:#?}");
    assert!(race.help().contains("after line 12"), "{said:#?}");
}

#[test]
fn a_run_that_would_take_more_than_an_hour_is_refused_and_says_why() {
    let mut player = Player::new(Schedule::Exact);
    let command = Command::Lab(lab_protocol::Request::HostWork { ns: 1 << 60, asking_ns: 0 });
    let request = Request { command, site: None, thread: 0, device: 0 };
    match player.machine.execute(&request, &mut player.process) {
        Reply::Lab(lab_protocol::Reply::Refused { why }) => {
            assert!(why.contains("an hour"), "{why}")
        }
        other => panic!("{other:?}"),
    }
    let spin = |player: &mut Player| {
        let command = Command::Work(WorkCommand::Launch {
            function: player.functions[1],
            grid: [1, 1, 1],
            block: [1, 1, 1],
            shared_bytes: 0,
            stream: 0,
            arguments: (1_u64 << 60).to_le_bytes().to_vec().into(),
        });
        player
            .machine
            .execute(&Request { command, site: None, thread: 0, device: 0 }, &mut player.process)
    };
    let refused = (0..1000).find_map(|_| match spin(&mut player) {
        Reply::Failed(failure) => Some(failure),
        _ => None,
    });
    let refused = refused.expect("an hour is over some time");
    assert_eq!(refused.code, simulator::machine::code::LAUNCH_TIMEOUT);
    assert!(refused.why.is_some_and(|why| why.contains("an hour")));
}

#[test]
fn a_memset_of_the_hosts_memory_or_of_memory_that_is_gone_is_told_why_it_fails() {
    let mut player = Player::new(Schedule::Exact);
    let base = 0x7f00_0000_0000;
    player.say(Command::PinnedBase { address: base });
    player.ask(1, Ask::Pin);
    player.ask(2, Ask::Alloc);
    player.ask(3, Ask::Free(0));
    for (target, words) in [(base, "pinned memory"), (player.blocks[0], "has been freed")] {
        let command = Command::Work(WorkCommand::Memset {
            stream: 0,
            mode: Mode::Asynchronous,
            target,
            pattern: 0,
            width: 1,
            count: 16,
        });
        let request = Request { command, site: None, thread: 0, device: 0 };
        match player.machine.execute(&request, &mut player.process) {
            Reply::Failed(failure) => {
                assert!(failure.why.as_ref().is_some_and(|why| why.contains(words)), "{failure:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}
