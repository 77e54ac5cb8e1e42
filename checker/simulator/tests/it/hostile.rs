//! Random and hostile commands: whatever a program asks for, the machine answers, with an error code
//! where it must. It never panics and never hangs, and the same commands get the same answers.
//!
//! What fails is cut down to the fewest commands that still fail, and printed with its seed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use simulator::Schedule;
use simulator::machine::{
    Address, Command, ContextCommand, DEVICE_BASE, EventCommand, Failure, GraphCommand, Machine,
    MemoryCommand, ModuleCommand, Reply, Request, StreamCommand, Turn, WorkCommand, code,
};
use trace::lab_protocol::{self, Buffer, Pass, Region, ThreadRequest};
use trace::program::{ChannelEnd, Mode, StreamKind, Timing, WorkQueues};

use crate::process::{HEAP, Kernels, Process};
use crate::program::h200;
use crate::properties::Dice;

/// Commands in all, and in one session: many short sessions meet more different states.
const COMMANDS: u64 = 2_400_000;
const SESSION: usize = 400;

/// A session takes about a millisecond: this long, and it never ends.
const HANGS: Duration = Duration::from_secs(120);

/// What a session was given so far, alive or not.
#[derive(Default)]
struct Given {
    streams: Vec<u64>,
    events: Vec<u64>,
    modules: Vec<u64>,
    functions: Vec<u64>,
    graphs: Vec<u64>,
    executables: Vec<u64>,
    memory: Vec<u64>,
    pinned: Vec<u64>,
}

impl Given {
    /// Takes note of what a command was answered.
    fn note(&mut self, command: &Command, reply: &Reply) {
        let found = match reply {
            Reply::Number(found) => *found,
            Reply::Entry { function, .. } => *function,
            _ => return,
        };
        let list = match command {
            Command::Stream(StreamCommand::Create { .. }) => &mut self.streams,
            Command::Event(EventCommand::Create { .. }) => &mut self.events,
            Command::Module(ModuleCommand::Load { .. }) => &mut self.modules,
            Command::Module(ModuleCommand::FunctionGet { .. }) => &mut self.functions,
            Command::Graph(GraphCommand::EndCapture { .. }) => &mut self.graphs,
            Command::Graph(GraphCommand::Instantiate { .. }) => &mut self.executables,
            Command::Memory(MemoryCommand::Alloc { .. } | MemoryCommand::AllocAsync { .. }) => {
                &mut self.memory
            }
            Command::Memory(MemoryCommand::AllocHost { .. }) => &mut self.pinned,
            _ => return,
        };
        list.push(found);
    }
}

/// Writes commands, hostile to a degree that differs from session to session.
struct Writer {
    dice: Dice,
    /// One choice in so many is nonsense.
    nonsense: u64,
    given: Given,
}

impl Writer {
    fn new(seed: u64) -> Self {
        let nonsense = [3, 10, 40, 400][(seed % 4) as usize];
        Self { dice: Dice(seed), nonsense, given: Given::default() }
    }

    fn odd(&mut self) -> bool {
        self.dice.below(self.nonsense) == 0
    }

    fn anything(&mut self) -> u64 {
        let any = [
            0,
            1,
            2,
            3,
            0x57,
            0x5700_0010,
            4096,
            DEVICE_BASE,
            DEVICE_BASE + 1,
            HEAP.start,
            HEAP.end - 1,
            u32::MAX.into(),
            1 << 33,
            1 << 40,
            i64::MAX as u64,
            u64::MAX - 1,
            u64::MAX,
        ];
        match self.dice.below(4) {
            0 => self.dice.below(1 << 31) << self.dice.below(34),
            _ => any[self.dice.below(any.len() as u64) as usize],
        }
    }

    /// One of what was given, mostly a late one; nonsense now and then.
    fn of(&mut self, list: fn(&Given) -> &Vec<u64>) -> u64 {
        let length = list(&self.given).len() as u64;
        if length == 0 || self.odd() {
            return self.anything();
        }
        let back = match self.dice.below(3) {
            0 => self.dice.below(length),
            _ => self.dice.below(length.min(4)),
        };
        list(&self.given)[(length - 1 - back) as usize]
    }

    fn stream(&mut self) -> u64 {
        match self.dice.below(6) {
            0 => self.dice.below(3),
            _ => self.of(|given| &given.streams),
        }
    }

    fn event(&mut self) -> u64 {
        self.of(|given| &given.events)
    }

    fn bytes(&mut self) -> u64 {
        if self.odd() {
            return self.anything();
        }
        match self.dice.below(5) {
            0 => self.dice.below(4),
            1 => 64 << 10,
            2 => (64 << 10) + 1,
            3 => 1 << 17,
            _ => self.dice.below(8192),
        }
    }

    /// An address in or near device memory that was given.
    fn memory(&mut self) -> u64 {
        let start = self.of(|given| &given.memory);
        match self.dice.below(4) {
            0 => start.wrapping_add(self.dice.below(8192)),
            _ => start,
        }
    }

    fn pinned(&mut self) -> u64 {
        let start = self.of(|given| &given.pinned);
        match self.dice.below(4) {
            0 => start.wrapping_add(self.dice.below(8192)),
            _ => start,
        }
    }

    fn address(&mut self) -> Address {
        match self.dice.below(5) {
            0 | 1 => Address::Device(self.memory()),
            2 | 3 => Address::Pinned(self.pinned()),
            _ if self.odd() => Address::Pageable(self.anything()),
            _ => Address::Pageable(HEAP.start + self.dice.below(HEAP.end - HEAP.start)),
        }
    }

    fn mode(&mut self) -> Mode {
        match self.dice.below(4) {
            0 => Mode::Synchronous,
            _ => Mode::Asynchronous,
        }
    }

    fn shape(&mut self, usual: u64) -> [u32; 3] {
        let mut one = |most: u64| match self.dice.below(self.nonsense) {
            0 => self.anything() as u32,
            _ => 1 + self.dice.below(most) as u32,
        };
        [one(usual), one(2), one(2)]
    }

    fn arguments(&mut self) -> Vec<u8> {
        let (source, target, bytes) = (self.memory(), self.memory(), self.dice.below(4096));
        let units = if self.odd() { self.anything() } else { self.dice.below(1 << 34) };
        let mut arguments = match self.dice.below(2) {
            0 => [source, target, bytes].map(u64::to_le_bytes).concat(),
            _ => units.to_le_bytes().to_vec(),
        };
        if self.odd() {
            arguments.truncate(self.dice.below(9) as usize);
        }
        arguments
    }

    fn command(&mut self) -> Command {
        let stream = self.stream();
        match self.dice.below(67) {
            0..=1 => {
                let kind = match self.dice.below(2) {
                    0 => StreamKind::Blocking,
                    _ => StreamKind::NonBlocking,
                };
                Command::Stream(StreamCommand::Create { kind, priority: self.anything() as i32 })
            }
            2 => Command::Stream(StreamCommand::Destroy { stream }),
            3 => Command::Stream(StreamCommand::Synchronize { stream }),
            4 => Command::Stream(StreamCommand::Query { stream }),
            5..=8 => Command::Stream(StreamCommand::Wait { stream, event: self.event() }),
            9 => Command::Stream(StreamCommand::Facts { stream }),
            10 => Command::Context(ContextCommand::Synchronize),
            11..=12 => {
                let timing =
                    if self.dice.below(2) == 0 { Timing::Enabled } else { Timing::Disabled };
                Command::Event(EventCommand::Create { timing })
            }
            13 => Command::Event(EventCommand::Destroy { event: self.event() }),
            14..=17 => Command::Event(EventCommand::Record { event: self.event(), stream }),
            18 => Command::Event(EventCommand::Synchronize { event: self.event() }),
            19 => Command::Event(EventCommand::Query { event: self.event() }),
            20 => Command::Event(EventCommand::Elapsed { start: self.event(), end: self.event() }),
            21..=22 => Command::Memory(MemoryCommand::Alloc { bytes: self.bytes() }),
            23..=24 => Command::Memory(MemoryCommand::AllocAsync { bytes: self.bytes(), stream }),
            25 => Command::Memory(MemoryCommand::Free { address: self.memory() }),
            26..=27 => Command::Memory(MemoryCommand::FreeAsync { address: self.memory(), stream }),
            28..=29 => Command::Memory(MemoryCommand::AllocHost { bytes: self.bytes() }),
            30 => Command::Memory(MemoryCommand::FreeHost { offset: self.pinned() }),
            31 => match self.dice.below(4) {
                0 => Command::Memory(MemoryCommand::PoolFacts),
                1 => Command::Memory(MemoryCommand::PoolKeep { bytes: self.bytes() }),
                2 => Command::Memory(MemoryCommand::PoolTrim { bytes: self.bytes() }),
                _ => Command::Memory(MemoryCommand::Info),
            },
            32..=39 => Command::Work(WorkCommand::Copy {
                stream,
                mode: self.mode(),
                source: self.address(),
                target: self.address(),
                bytes: self.bytes(),
            }),
            40..=41 => {
                let width = match self.odd() {
                    true => self.anything() as u8,
                    false => 1 << self.dice.below(3),
                };
                Command::Work(WorkCommand::Memset {
                    stream,
                    mode: self.mode(),
                    target: self.memory(),
                    pattern: self.anything() as u32,
                    width,
                    count: self.bytes(),
                })
            }
            42 => {
                let entries = vec!["touch".to_owned(), "spin".to_owned(), String::new()];
                Command::Module(ModuleCommand::Load { entries })
            }
            43 if self.odd() => {
                Command::Module(ModuleCommand::Unload { module: self.of(|given| &given.modules) })
            }
            43..=44 => {
                let names = ["touch", "spin", "spin", "", "none"];
                let name = names[self.dice.below(names.len() as u64) as usize].to_owned();
                Command::Module(ModuleCommand::FunctionGet {
                    module: self.of(|given| &given.modules),
                    name,
                })
            }
            45 if self.odd() => Command::Module(ModuleCommand::FunctionAllow {
                function: self.of(|given| &given.functions),
                shared_bytes: Some(self.anything() as u32),
            }),
            45 => Command::Module(ModuleCommand::FunctionFacts {
                function: self.of(|given| &given.functions),
                threads: self.anything() as u32,
                shared_bytes: self.anything() as u32,
            }),
            46..=52 => Command::Work(WorkCommand::Launch {
                function: self.of(|given| &given.functions),
                grid: self.shape(600),
                block: self.shape(64),
                shared_bytes: if self.odd() { self.anything() as u32 } else { 0 },
                stream,
                arguments: self.arguments().into(),
            }),
            53 => Command::Work(WorkCommand::HostFunction {
                stream,
                function: self.anything(),
                data: self.anything(),
            }),
            54 => self.lab(),
            64..=65 => Command::Work(WorkCommand::PeerCopy {
                stream,
                mode: self.mode(),
                source: Address::Device(self.memory()),
                target: Address::Device(self.memory()),
                bytes: self.bytes(),
            }),
            66 => Command::Context(ContextCommand::PeerAccess {
                by: self.dice.below(2) as u32,
                pool: self.dice.below(2) == 0,
                enabled: self.dice.below(3) > 0,
            }),
            55 => Command::Connections(WorkQueues {
                kernels: self.anything() as u32,
                copies: self.anything() as u32,
            }),
            _ => Command::Graph(self.graph(stream)),
        }
    }

    fn graph(&mut self, stream: u64) -> GraphCommand {
        let graph = self.of(|given| &given.graphs);
        let executable = self.of(|given| &given.executables);
        match self.dice.below(15) {
            14 => GraphCommand::Update { executable, graph },
            12 => GraphCommand::ExchangeMode { mode: self.dice.below(4) as u32 },
            13 => GraphCommand::External { event: self.event(), stream },
            0 | 1 => {
                let mode = if self.odd() { self.anything() as u32 } else { 2 };
                GraphCommand::BeginCapture { stream, mode }
            }
            2..=4 => GraphCommand::EndCapture { stream },
            5 => GraphCommand::IsCapturing { stream },
            6 | 7 => {
                let flags = if self.odd() { self.anything() } else { 0 };
                GraphCommand::Instantiate { graph, flags }
            }
            8 | 9 => GraphCommand::Launch { executable, stream },
            10 => GraphCommand::Upload { executable, stream },
            _ if self.dice.below(2) == 0 => GraphCommand::ExecDestroy { executable },
            _ => GraphCommand::Destroy { graph },
        }
    }

    fn lab(&mut self) -> Command {
        let buffer = Buffer {
            address: match self.address() {
                Address::Device(at) | Address::Pinned(at) | Address::Pageable(at) => at,
            },
            bytes: self.bytes(),
            array: self.anything() as u32,
            first: self.anything(),
        };
        let few = self.dice.below(4) as u32;
        Command::Lab(match self.dice.below(16) {
            12 | 13 => {
                let array = self.dice.below(2) as u32;
                let first = if self.odd() { self.dice.below(4096) } else { self.anything() };
                let place = Buffer { array, first, ..buffer };
                let (written, ns, began_ns) = (self.bytes(), self.bytes(), self.anything());
                lab_protocol::Request::Load { place, written, ns, began_ns }
            }
            14 | 15 => {
                let (source, target) = (buffer.address, self.anything());
                lab_protocol::Request::HostCopy { source, target, bytes: self.bytes() }
            }
            8..=11 => lab_protocol::Request::Thread(match self.dice.below(10) {
                0 => ThreadRequest::Spawn,
                1 => ThreadRequest::Started { thread: if self.odd() { Err(few) } else { Ok(few) } },
                2 => ThreadRequest::Start { thread: few },
                3 => ThreadRequest::End,
                4 => ThreadRequest::Join { thread: few },
                5 => ThreadRequest::Channel { capacity: (few > 0).then_some(few - few / 3 * 3) },
                6 | 7 => ThreadRequest::Send { channel: few, token: self.anything() },
                8 => ThreadRequest::Receive { channel: few },
                _ => ThreadRequest::Close {
                    channel: few,
                    end: if self.odd() { ChannelEnd::Receiver } else { ChannelEnd::Sender },
                },
            }),
            0 => lab_protocol::Request::Scale {
                scale: [0, 1, 32, u32::MAX][self.dice.below(4) as usize],
            },
            1 => lab_protocol::Request::HostWork { ns: self.bytes(), asking_ns: 0 },
            2 => lab_protocol::Request::Clock,
            3 => lab_protocol::Request::Speeds,
            4 | 5 => lab_protocol::Request::RegionBegin(Region {
                name: String::new(),
                task: if self.odd() { "none" } else { "fill" }.to_owned(),
                seed: 1,
                pass: Pass::Counts,
                inputs: vec![buffer],
                outputs: vec![buffer],
            }),
            _ => lab_protocol::Request::RegionEnd,
        })
    }
}

/// The thread whose turn it is; once all wait for one another, the one that asks is refused.
fn turn(machine: &Machine) -> u32 {
    match machine.turn() {
        Turn::Thread(thread) => *thread,
        Turn::Nobody(_) => 0,
    }
}

/// Plays commands; `next` gives each, from what was answered so far.
fn play(seed: u64, mut next: impl FnMut(Option<(&Command, &Reply)>) -> Option<Command>) -> Vec<u8> {
    let schedule = match seed % 3 {
        0 => Schedule::Perturbed(seed),
        _ => Schedule::Exact,
    };
    let mut machine = Machine::new(h200(), schedule, Box::new(Kernels));
    let mut host = Process::new();
    let mut said = Vec::new();
    let mut held = BTreeSet::new();
    // Every other session uses two devices.
    let mut current = Dice(seed | 1);
    let devices = 1 + seed % 2;
    let mut before: Option<(Command, Reply)> = None;
    while let Some(command) = next(before.as_ref().map(|(command, reply)| (command, reply))) {
        // The thread whose turn it is; what became of a call that was held comes first.
        let device = match current.below(40 * devices) {
            40 => u32::MAX,
            chosen => chosen as u32 % devices as u32,
        };
        let mut request = Request { command, site: None, thread: turn(&machine), device };
        while held.remove(&request.thread) {
            let resumed = Request { command: Command::Resume, ..request.clone() };
            let reply = machine.execute(&resumed, &mut host);
            write!(&mut Text(&mut said), "{reply:?}").expect("memory takes what is written");
            request.thread = turn(&machine);
        }
        let reply = machine.execute(&request, &mut host);
        if reply == Reply::Blocked {
            held.insert(request.thread);
        }
        write!(&mut Text(&mut said), "{reply:?}").expect("memory takes what is written");
        before = Some((request.command, reply));
    }
    // Whatever state it is in, the device comes to rest, and the run can be written down.
    let thread = turn(&machine);
    let request = Request {
        command: Command::Context(ContextCommand::Synchronize),
        site: None,
        thread,
        device: 0,
    };
    machine.execute(&request, &mut host);
    serde_json::to_writer(&mut said, &machine.record()).expect("a record can be written");
    said
}

struct Text<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The commands of a session, and whether it went well.
fn session(seed: u64) -> (Vec<Command>, Option<Vec<u8>>) {
    let mut commands = Vec::new();
    let mut writer = Writer::new(seed);
    let said = catch_unwind(AssertUnwindSafe(|| {
        play(seed, |before| {
            if let Some((command, reply)) = before {
                writer.given.note(command, reply);
            }
            if commands.len() == SESSION {
                return None;
            }
            let command = writer.command();
            commands.push(command.clone());
            Some(command)
        })
    }));
    (commands, said.ok())
}

fn replayed(seed: u64, commands: &[Command]) -> Option<Vec<u8>> {
    let mut left = commands.iter();
    catch_unwind(AssertUnwindSafe(|| play(seed, |_| left.next().cloned()))).ok()
}

/// The fewest commands that still fail: whole stretches are left out, then single ones.
fn shrunk(seed: u64, mut commands: Vec<Command>) -> Vec<Command> {
    let mut stretch = commands.len();
    while stretch > 0 {
        let mut start = 0;
        while start < commands.len() {
            let end = (start + stretch).min(commands.len());
            let fewer = [&commands[..start], &commands[end..]].concat();
            if replayed(seed, &fewer).is_none() {
                commands = fewer;
            } else {
                start = end;
            }
        }
        stretch /= 2;
    }
    commands
}

fn check(seed: u64) {
    let (commands, said) = session(seed);
    let Some(said) = said else {
        let mut report = format!("seed {seed}: the machine panics after\n");
        for command in shrunk(seed, commands) {
            let _ = writeln!(report, "    {command:?}");
        }
        panic!("{report}");
    };
    if seed.is_multiple_of(16) {
        let again = replayed(seed, &commands);
        assert!(again == Some(said), "seed {seed}: the same commands got other answers");
    }
}

/// Runs `body` on the numbers from 0 on, and fails if one of them does not end.
fn each(count: u64, body: fn(u64)) {
    let (done, progress) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        for seed in 0..count {
            body(seed);
            let _ = done.send(seed);
        }
    });
    let mut next = 0;
    loop {
        match progress.recv_timeout(HANGS) {
            Ok(seed) => next = seed + 1,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("seed {next}: the machine hangs"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_million_hostile_commands_neither_stop_nor_hang_the_machine() {
    each(COMMANDS / SESSION as u64, check);
}

#[test]
fn a_program_that_asks_for_too_much_is_refused_from_then_on_and_told_why_once() {
    let mut machine = Machine::new(h200(), Schedule::Exact, Box::new(Kernels));
    let mut process = Process::new();
    let mut request = || {
        let command = Command::Context(ContextCommand::Synchronize);
        machine.execute(&Request { command, site: None, thread: 0, device: 0 }, &mut process)
    };
    let mut fits = 0;
    let refused = loop {
        match request() {
            Reply::Failed(failure) => break failure,
            _ => fits += 1,
        }
    };
    assert_eq!(fits / 1000, (1 << 20) / 1000, "a million calls fit");
    assert_eq!(refused.code, code::OUT_OF_MEMORY);
    assert!(refused.why.is_some_and(|why| why.contains("a million")));
    for _ in 0..3 {
        assert_eq!(request(), Reply::Failed(Failure::bare(code::OUT_OF_MEMORY)));
    }
}
