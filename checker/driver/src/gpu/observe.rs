//! The noted calls, by name: the [`Log`] becomes a [`Program`] and the host's side of a
//! timeline, when a region begins or has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use simulator::machine::{Address, Command, Handles, Reply, Touch, WorkCommand, code};
use trace::Program;
use trace::program::{
    Access, BlockId, Call, Direction, EventId, Extent, KernelId, Mode, Place, Step, StreamId,
};
use trace::timeline::{HostMemory, HostSpan, Span, SpanKind};

use super::cupti::join::{Kind, Wanted};
use super::graphs::{Graphs, Meaning};
use super::log::{Asked, Log, Noted, Times, gives_a_name, takes_a_name};
use crate::cuda::CUresult;
use crate::library::Library;

/// A step that asked the device for work.
pub(super) struct Work {
    /// The number of its call in the log.
    pub(super) number: u64,
    pub(super) step: u32,
}

/// The program so far, and the host's side of its timeline.
pub(super) struct Observed {
    handles: Handles,
    graphs: Graphs,
    program: Program,
    /// One for each step.
    host: Vec<HostSpan>,
    had_region: bool,
    kernels: BTreeMap<KernelId, Arc<str>>,
    /// When each thread's last call returned.
    last_end_ns: Vec<u64>,
    /// Calls that could not be named, and the first of them.
    nameless: (u64, Option<String>),
}

impl Observed {
    pub(super) fn new() -> Self {
        Self {
            handles: Handles::default(),
            graphs: Graphs::default(),
            program: Program::new(1),
            host: Vec::new(),
            had_region: false,
            kernels: BTreeMap::new(),
            last_end_ns: Vec::new(),
            nameless: (0, None),
        }
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn host(&self) -> &[HostSpan] {
        &self.host
    }

    /// The note about calls that could not be noted.
    pub(super) fn note(&self) -> Option<String> {
        let (count, first) = &self.nameless;
        let first = first.as_deref()?;
        Some(format!("{count} calls are missing from the program; the first was {first}"))
    }

    /// Turns the log into steps; those that ask the device for work.
    pub(super) fn take_up(&mut self, log: &mut Log, now_ns: u64) -> Vec<Work> {
        self.take_up_but(log, now_ns, |_, _| false)
    }

    /// Of all that happened so far only what made the things that are still there stays. What does
    /// not is not turned into steps first: a program pays for this between its own calls.
    pub(super) fn take_up_what_stays(&mut self, log: &mut Log, now_ns: u64) {
        self.take_up_but(log, now_ns, |graphs, asked| match asked {
            Asked::Command(command) => {
                let stays = matches!(command, Command::Graph(_))
                    || gives_a_name(command)
                    || takes_a_name(command);
                !stays && graphs.capture_nothing()
            }
            Asked::HostAccess(_) => true,
            Asked::Lab(_) => false,
        });
        self.forget_what_is_over();
    }

    fn take_up_but(
        &mut self,
        log: &mut Log,
        now_ns: u64,
        is_over: impl Fn(&Graphs, &Asked) -> bool,
    ) -> Vec<Work> {
        let mut work = Vec::new();
        let first = log.first;
        log.first += log.calls.len() as u64;
        for (number, mut noted) in (first..).zip(log.calls.drain(..)) {
            if is_over(&self.graphs, &noted.asked) {
                continue;
            }
            if noted.result.is_none() {
                // Another thread is still in it.
                (noted.times.start, noted.times.end) = (noted.times.entered, now_ns);
            }
            self.handles.set_current(noted.device);
            let result = noted.result.unwrap_or(code::SUCCESS);
            let asked = std::mem::replace(&mut noted.asked, Asked::Lab(Call::ThreadEnd));
            let call = match asked {
                Asked::Lab(call) => call,
                Asked::HostAccess(touch) => match self.host_access(touch) {
                    Some(call) => call,
                    None => continue,
                },
                Asked::Command(command) => match self.step(command, &noted, result) {
                    Some(call) => call,
                    None => continue,
                },
            };
            if result == code::SUCCESS && asks_for_work(&call) {
                work.push(Work { number, step: self.program.steps.len() as u32 });
            }
            self.push(call, noted.site, noted.thread, noted.times, result);
        }
        work
    }

    /// The use of pinned memory; none if it is not known to be pinned.
    fn host_access(&self, touch: Touch) -> Option<Call> {
        let Touch { offset: address, bytes, kind } = touch;
        let ranges = self.handles.pinned_within(address, bytes);
        let accesses: Vec<Access> =
            ranges.into_iter().map(|range| Access { kind, range }).collect();
        (!accesses.is_empty()).then_some(Call::HostAccess { accesses, extent: Extent::Part })
    }

    /// The step that a command is; none if it is none.
    fn step(&mut self, command: Command, noted: &Noted, result: CUresult) -> Option<Call> {
        let names = &self.handles;
        let stream_named = |stream| names.stream(stream).ok();
        match self.graphs.follow(&command, noted.given, result, stream_named) {
            Meaning::Unrelated => self.name(command, noted.given, result),
            Meaning::Noted => None,
            Meaning::Unknown(what) => {
                self.miss(|| what.to_owned());
                None
            }
            Meaning::Step(call) => Some(call),
            Meaning::Node(stream) => {
                let call = self.name(command, noted.given, result)?;
                self.graphs.add(stream, call, noted.site);
                None
            }
        }
    }

    fn name(&mut self, command: Command, given: u64, result: CUresult) -> Option<Call> {
        let failed = !matches!(result, code::SUCCESS | code::NOT_READY);
        if failed && (gives_a_name(&command) || takes_a_name(&command)) {
            // It gave nothing and took nothing.
            return None;
        }
        let command = self.placed(command);
        match command.call(&mut self.handles, &Reply::Number(given), &Library) {
            Ok(call) => {
                if let Some(Call::FunctionGet { kernel, name, .. }) = &call {
                    self.kernels.insert(*kernel, name.as_str().into());
                }
                call
            }
            Err(failure) => {
                self.miss(|| {
                    // `Stream(Synchronize { …` and `Work(Launch { …`
                    let what = format!("{command:?}").replace("Work(", "").replace('(', "");
                    let what = what.split([' ', '{']).next().unwrap_or_default();
                    match failure.why {
                        Some(why) => format!("`{what}`: {why}"),
                        None => {
                            format!("`{what}`, of something that was not made by calls known here")
                        }
                    }
                });
                None
            }
        }
    }

    /// Counts a call that is missing from the program, and remembers the first.
    fn miss(&mut self, what: impl FnOnce() -> String) {
        let (count, first) = &mut self.nameless;
        *count += 1;
        first.get_or_insert_with(what);
    }

    /// The same command with what its host addresses turn out to be: device addresses and
    /// pinned memory are told apart here, not while the program waits.
    fn placed(&self, mut command: Command) -> Command {
        if let Command::Work(
            WorkCommand::Copy { source, target, .. } | WorkCommand::PeerCopy { source, target, .. },
        ) = &mut command
        {
            for address in [source, target] {
                if let Address::Pageable(at) = *address {
                    if self.handles.is_device(at) {
                        *address = Address::Device(at);
                    } else if self.handles.is_pinned(at) {
                        *address = Address::Pinned(at);
                    }
                }
            }
        }
        command
    }

    /// Adds a step.
    pub(super) fn push(
        &mut self,
        call: Call,
        site: Option<u32>,
        thread: u32,
        times: Times,
        result: CUresult,
    ) {
        let index = thread as usize;
        if self.last_end_ns.len() <= index {
            self.last_end_ns.resize(index + 1, 0);
        }
        // Before a thread's first call there is no gap, only the start of the program.
        let gap_ns = match self.last_end_ns[index] {
            0 => 0,
            last => times.entered.saturating_sub(last),
        };
        self.last_end_ns[index] = times.end;
        let blocked_ns = if may_hold(&call) { times.end.saturating_sub(times.start) } else { 0 };
        self.host.push(HostSpan {
            step: self.program.steps.len() as u32,
            start_ns: times.start,
            end_ns: times.end,
            blocked_ns,
        });
        let device = self.handles.device_of_call(&call);
        self.program.steps.push(Step { call, site, thread, gap_ns, result, device });
    }

    /// A call that was noted as instantaneous has kept the host until now.
    pub(super) fn returned(&mut self, thread: u32, now_ns: u64) {
        if let Some(last) = self.last_end_ns.get_mut(thread as usize) {
            *last = now_ns;
        }
    }

    /// Whether device memory of the program's is at this address.
    pub(super) fn is_device(&self, address: u64) -> bool {
        self.handles.is_device(address)
    }

    /// A region begins with the next step. Where one was before, nothing that is over stays: the
    /// device is idle, so it cannot matter.
    pub(super) fn begin_region(&mut self) {
        if std::mem::replace(&mut self.had_region, true) {
            self.forget_what_is_over();
        }
    }

    /// Of all that happened so far only what made the things that are still there stays.
    pub(super) fn forget_what_is_over(&mut self) {
        let Self { program, host, .. } = self;
        let steps = &mut program.steps;
        let has_graphs = steps.iter().any(|step| matches!(step.call, Call::GraphCreate { .. }));
        let gone: BTreeSet<Thing> = steps.iter().filter_map(|step| released(&step.call)).collect();
        let stays = |call: &Call| match made(call) {
            // Nodes of graphs name streams that may be gone.
            Some(thing @ Thing::Stream(_)) => has_graphs || !gone.contains(&thing),
            Some(thing) => !gone.contains(&thing),
            None => matches!(
                call,
                Call::FunctionGet { .. }
                    | Call::PeerAccess { .. }
                    | Call::Connections { .. }
                    | Call::GraphCreate { .. }
                    | Call::GraphInstantiate { .. }
            ),
        };
        // In place: what comes next finds its room.
        let mut kept = 0;
        for step in 0..steps.len() {
            if stays(&steps[step].call) {
                steps.swap(kept, step);
                host.swap(kept, step);
                host[kept].step = kept as u32;
                kept += 1;
            }
        }
        steps.truncate(kept);
        host.truncate(kept);
    }

    /// The operation that CUPTI should show for a step; none if it shows nothing.
    pub(super) fn wanted(&self, work: &Work) -> Option<Wanted> {
        let step = &self.program.steps[work.step as usize];
        let kind = match &step.call {
            Call::Launch(_) => Kind::Kernel,
            Call::Memset { .. } => Kind::Memset,
            call @ Call::Copy { .. } => Kind::Copy(call.direction()?),
            _ => return None,
        };
        Some(Wanted { number: work.number, step: work.step, thread: step.thread, kind })
    }

    /// The span of a step; none for what the device has no part in.
    pub(super) fn span(&self, step: u32, start_ns: u64, end_ns: u64) -> Option<Span> {
        let call = &self.program.steps[step as usize].call;
        let (kind, stream, bytes) = match call {
            Call::Launch(launch) => (SpanKind::Kernel, launch.stream, 0),
            Call::Memset { stream, target, .. } => (SpanKind::Memset, *stream, target.bytes),
            Call::HostFunction { stream, .. } => (SpanKind::HostFunction, *stream, 0),
            Call::Copy { stream, bytes, .. } => {
                let kind = match call.direction()? {
                    Direction::HostToDevice => SpanKind::HostToDevice,
                    Direction::DeviceToHost => SpanKind::DeviceToHost,
                    Direction::DeviceToDevice => SpanKind::DeviceToDevice,
                    Direction::PeerToPeer => SpanKind::PeerToPeer,
                    Direction::HostToHost => return None,
                };
                (kind, *stream, *bytes)
            }
            _ => return None,
        };
        let name = match call {
            Call::Launch(launch) => self.kernels.get(&launch.kernel).cloned(),
            _ => None,
        };
        let host_memory = kind.is_transfer().then_some(match call {
            Call::Copy { source: Place::Pinned(_), .. }
            | Call::Copy { target: Place::Pinned(_), .. } => HostMemory::Pinned,
            _ => HostMemory::Pageable,
        });
        Some(Span { step, kind, name, stream, start_ns, end_ns, bytes, host_memory })
    }
}

fn asks_for_work(call: &Call) -> bool {
    matches!(
        call,
        Call::Copy { .. } | Call::Memset { .. } | Call::Launch(_) | Call::HostFunction { .. }
    )
}

/// Something that the program made and can release.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Stream(StreamId),
    Event(EventId),
    Block(BlockId),
}

fn made(call: &Call) -> Option<Thing> {
    Some(match call {
        Call::StreamCreate { stream, .. } => Thing::Stream(*stream),
        Call::EventCreate { event, .. } => Thing::Event(*event),
        Call::Alloc { block, .. }
        | Call::AllocAsync { block, .. }
        | Call::AllocHost { block, .. } => Thing::Block(*block),
        _ => return None,
    })
}

fn released(call: &Call) -> Option<Thing> {
    Some(match call {
        Call::StreamDestroy { stream } => Thing::Stream(*stream),
        Call::EventDestroy { event } => Thing::Event(*event),
        Call::Free { block } | Call::FreeAsync { block, .. } | Call::FreeHost { block } => {
            Thing::Block(*block)
        }
        _ => return None,
    })
}

/// Whether a call returns only when the device has done something, as far as the call alone
/// tells. What such a call would have cost an idle device is part of the time.
fn may_hold(call: &Call) -> bool {
    match call {
        Call::ContextSynchronize
        | Call::StreamSynchronize { .. }
        | Call::EventSynchronize { .. }
        | Call::Free { .. }
        | Call::FreeHost { .. }
        | Call::ModuleLoad
        | Call::ThreadJoin { .. }
        | Call::ChannelSend { .. }
        | Call::ChannelReceive { .. } => true,
        Call::Copy { mode, source, target, .. } => {
            *mode == Mode::Synchronous || [source, target].contains(&&Place::Pageable)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use simulator::machine::{
        ContextCommand, EventCommand, GraphCommand, MemoryCommand, StreamCommand,
    };
    use trace::program::{Range, StreamKind, Timing};

    use super::*;

    fn done(command: Command, given: u64, at: u64) -> Noted {
        let times = Times { entered: at, start: at + 1, end: at + 5 };
        let asked = Asked::Command(command);
        Noted { asked, given, site: None, thread: 0, device: 0, times, result: Some(code::SUCCESS) }
    }

    fn copy(source: u64, target: u64) -> Command {
        Command::Work(WorkCommand::Copy {
            stream: 0x70,
            mode: Mode::Asynchronous,
            source: Address::Pageable(source),
            target: Address::Device(target),
            bytes: 64,
        })
    }

    /// A log with a stream 0x70, device memory at 0x1000 and pinned memory at 0x9000.
    fn setup() -> Log {
        let mut log = Log::new();
        log.note(done(
            Command::Stream(StreamCommand::Create { kind: StreamKind::NonBlocking, priority: 0 }),
            0x70,
            10,
        ));
        log.note(done(Command::Memory(MemoryCommand::Alloc { bytes: 256 }), 0x1000, 20));
        log.note(done(Command::Memory(MemoryCommand::AllocHost { bytes: 256 }), 0x9000, 30));
        log
    }

    #[test]
    fn what_a_stream_captures_becomes_a_graph_and_its_launches_steps() {
        let (mut log, mut observed) = (setup(), Observed::new());
        let created =
            Command::Stream(StreamCommand::Create { kind: StreamKind::NonBlocking, priority: 0 });
        log.note(done(created, 0x71, 40));
        log.note(done(Command::Event(EventCommand::Create { timing: Timing::Disabled }), 0x80, 45));
        let graph = |asked, given, at| done(Command::Graph(asked), given, at);
        log.note(graph(GraphCommand::BeginCapture { stream: 0x70, mode: 0 }, 0, 50));
        log.note(done(copy(0x9000, 0x1000), 0, 60));
        log.note(done(Command::Event(EventCommand::Record { event: 0x80, stream: 0x70 }), 0, 61));
        log.note(done(Command::Stream(StreamCommand::Wait { stream: 0x71, event: 0x80 }), 0, 62));
        let set = |stream| {
            let mode = Mode::Asynchronous;
            Command::Work(WorkCommand::Memset {
                stream,
                mode,
                target: 0x1000,
                pattern: 0,
                width: 1,
                count: 64,
            })
        };
        log.note(done(set(0x71), 0, 63));
        log.note(done(set(0x70), 0, 64));
        log.note(done(Command::Event(EventCommand::Record { event: 0x80, stream: 0x71 }), 0, 65));
        log.note(done(Command::Stream(StreamCommand::Wait { stream: 0x70, event: 0x80 }), 0, 66));
        log.note(done(copy(0x9040, 0x1040), 0, 67));
        log.note(graph(GraphCommand::EndCapture { stream: 0x70 }, 0xa0, 70));
        log.note(graph(GraphCommand::Instantiate { graph: 0xa0, flags: 0 }, 0xb0, 71));
        log.note(graph(GraphCommand::Launch { executable: 0xb0, stream: 0x71 }, 0, 72));
        log.note(graph(GraphCommand::ExecDestroy { executable: 0xb0 }, 0, 73));
        // After the capture the streams work as ever.
        log.note(done(copy(0x9000, 0x1000), 0, 80));
        let work = observed.take_up(&mut log, 100);
        assert_eq!(work.len(), 1, "only the copy that was not captured is a step of its own");
        let calls: Vec<&Call> = observed.program().steps[5..].iter().map(|it| &it.call).collect();
        let id = trace::program::GraphId(0);
        let [Call::GraphCreate { graph, nodes }, instantiated, launched, Call::Copy { .. }] =
            calls[..]
        else {
            panic!("{calls:?}")
        };
        assert_eq!(*graph, id);
        let after: Vec<&[u32]> = nodes.iter().map(|node| &node.after[..]).collect();
        assert_eq!(after, [&[][..], &[0], &[0], &[1, 2]]);
        assert!(matches!(nodes[1].call, Call::Memset { stream: StreamId(3), .. }));
        assert_eq!(*instantiated, Call::GraphInstantiate { graph: id, updates: None });
        assert_eq!(
            *launched,
            Call::GraphLaunch { graph: id, copy: 0, stream: StreamId(3), accesses: Vec::new() }
        );
        // A second pass launches what the first has made.
        observed.begin_region();
        observed.begin_region();
        let stays = |call: &Call| matches!(call, Call::GraphCreate { .. });
        assert!(observed.program().steps.iter().any(|step| stays(&step.call)));
    }

    #[test]
    fn a_stream_that_is_destroyed_captures_nothing_more_under_the_handle_of_the_next() {
        let created =
            Command::Stream(StreamCommand::Create { kind: StreamKind::NonBlocking, priority: 0 });
        let begin = |stream| Command::Graph(GraphCommand::BeginCapture { stream, mode: 0 });
        // The stream 0x70 began a capture, or takes part in that of 0x71.
        for origin in [0x70, 0x71] {
            let (mut log, mut observed) = (setup(), Observed::new());
            log.note(done(created.clone(), 0x71, 40));
            log.note(done(
                Command::Event(EventCommand::Create { timing: Timing::Disabled }),
                0x80,
                45,
            ));
            log.note(done(begin(origin), 0, 50));
            log.note(done(
                Command::Event(EventCommand::Record { event: 0x80, stream: origin }),
                0,
                51,
            ));
            log.note(done(
                Command::Stream(StreamCommand::Wait { stream: 0x70, event: 0x80 }),
                0,
                52,
            ));
            log.note(done(Command::Stream(StreamCommand::Destroy { stream: 0x70 }), 0, 60));
            log.note(done(created.clone(), 0x70, 70));
            log.note(done(copy(0x9000, 0x1000), 0, 80));
            let work = observed.take_up(&mut log, 100);
            assert_eq!(work.len(), 1, "the copy runs: nothing captures the new stream");
            let last = &observed.program().steps.last().expect("there are steps").call;
            assert!(matches!(last, Call::Copy { stream: StreamId(4), .. }), "{last:?}");
        }
    }

    #[test]
    fn handles_and_addresses_become_numbers_and_host_addresses_what_they_are() {
        let (mut log, mut observed) = (setup(), Observed::new());
        log.note(done(copy(0x9040, 0x1000), 0, 40));
        log.note(done(copy(0x5000, 0x1000), 0, 50));
        let work = observed.take_up(&mut log, 100);
        let found: Vec<_> = work.iter().map(|work| (work.number, work.step)).collect();
        assert_eq!(found, [(3, 3), (4, 4)]);
        let host_memory = |step| observed.span(step, 0, 0).expect("a transfer").host_memory;
        assert_eq!(
            (host_memory(3), host_memory(4)),
            (Some(HostMemory::Pinned), Some(HostMemory::Pageable))
        );
        assert_eq!(observed.span(3, 0, 0).expect("a transfer").stream, StreamId(2));
        assert_eq!(observed.program().steps[3].gap_ns, 5);
        assert_eq!(log.streams(), [0x70]);
    }

    #[test]
    fn before_a_second_region_only_what_made_living_things_is_kept() {
        let (mut log, mut observed) = (setup(), Observed::new());
        log.note(done(copy(0x9000, 0x1000), 0, 40));
        observed.take_up(&mut log, 100);
        for pass in 0..3 {
            observed.begin_region();
            // The first has all that was before, the others have the stream, the two blocks, and an event
            // for each pass.
            assert_eq!(observed.program().steps.len(), if pass == 0 { 4 } else { 3 + pass });
            let (stays, goes) = (0x80 + pass as u64, 0x90);
            log.note(done(
                Command::Event(EventCommand::Create { timing: Timing::Disabled }),
                stays,
                200,
            ));
            log.note(done(
                Command::Event(EventCommand::Create { timing: Timing::Disabled }),
                goes,
                210,
            ));
            log.note(done(copy(0x9000, 0x1000), 0, 220));
            log.note(done(Command::Event(EventCommand::Destroy { event: goes }), 0, 230));
            let first = observed.program().steps.len() as u32;
            let work = observed.take_up(&mut log, 300);
            assert_eq!(work[0].step, first + 2);
        }
        let steps: Vec<_> = observed.host().iter().map(|span| span.step).collect();
        assert_eq!(steps, (0..5 + 4).collect::<Vec<_>>());
    }

    #[test]
    fn what_stays_is_the_same_without_turning_the_rest_into_steps_first() {
        let after = |forget: fn(&mut Observed, &mut Log)| {
            let (mut log, mut observed) = (setup(), Observed::new());
            let graph = |asked, given, at| done(Command::Graph(asked), given, at);
            log.note(done(copy(0x9000, 0x1000), 0, 40));
            log.note(done(Command::Memory(MemoryCommand::Alloc { bytes: 64 }), 0x2000, 41));
            log.note(done(Command::Memory(MemoryCommand::Free { address: 0x2000 }), 0, 42));
            // The log is full amid a capture, of which nothing may be lost.
            log.note(graph(GraphCommand::BeginCapture { stream: 0x70, mode: 0 }, 0, 50));
            log.note(done(copy(0x9000, 0x1000), 0, 51));
            forget(&mut observed, &mut log);
            log.note(done(copy(0x9040, 0x1040), 0, 60));
            log.note(graph(GraphCommand::EndCapture { stream: 0x70 }, 0xa0, 61));
            log.note(done(copy(0x9000, 0x1000), 0, 62));
            forget(&mut observed, &mut log);
            assert_eq!(log.first, 11);
            observed
        };
        let with_steps = after(|observed, log| {
            observed.take_up(log, 100);
            observed.forget_what_is_over();
        });
        let without = after(|observed, log| observed.take_up_what_stays(log, 100));
        assert_eq!(with_steps.program(), without.program());
        let Some(Call::GraphCreate { nodes, .. }) =
            without.program().steps.last().map(|it| &it.call)
        else {
            panic!("{:?}", without.program())
        };
        assert_eq!(nodes.len(), 2);
        assert_eq!(without.program().steps.len(), 4);
    }

    #[test]
    fn what_failed_is_a_step_with_its_code_where_it_can_be_named() {
        let (mut log, mut observed) = (setup(), Observed::new());
        let failed = |command, code| Noted { result: Some(code), ..done(command, 0, 40) };
        log.note(failed(
            Command::Memory(MemoryCommand::Alloc { bytes: 1 << 50 }),
            code::OUT_OF_MEMORY,
        ));
        log.note(failed(
            Command::Memory(MemoryCommand::Free { address: 0x1000 }),
            code::INVALID_VALUE,
        ));
        log.note(failed(Command::Stream(StreamCommand::Query { stream: 0x70 }), code::NOT_READY));
        log.note(failed(copy(0x9000, 0x1000), code::INVALID_VALUE));
        let work = observed.take_up(&mut log, 100);
        assert!(work.is_empty());
        let results: Vec<_> = observed.program().steps.iter().map(|step| step.result).collect();
        assert_eq!(results, [0, 0, 0, 600, 1]);
        assert_eq!(observed.note(), None);
    }

    #[test]
    fn a_call_that_cannot_be_named_is_counted() {
        let (mut log, mut observed) = (setup(), Observed::new());
        log.note(done(Command::Stream(StreamCommand::Synchronize { stream: 0x99 }), 0, 40));
        observed.take_up(&mut log, 100);
        assert_eq!(observed.program().steps.len(), 3);
        let note = observed.note().expect("one is missing");
        assert!(
            note.starts_with(
                "1 calls are missing from the program; the first was `StreamSynchronize`"
            ),
            "{note}"
        );
    }

    #[test]
    fn a_call_that_has_not_come_back_ends_now_and_is_left_alone_later() {
        let (mut log, mut observed) = (setup(), Observed::new());
        let pending =
            Noted { result: None, ..done(Command::Context(ContextCommand::Synchronize), 0, 40) };
        let (number, _) = log.note(pending);
        observed.take_up(&mut log, 100);
        log.returned(number, Times::default(), code::UNKNOWN);
        let span = &observed.host()[3];
        assert_eq!((span.start_ns, span.end_ns, span.blocked_ns), (40, 100, 60));
        assert_eq!(observed.program().steps[3].result, 0);
    }

    #[test]
    fn a_copy_of_ordinary_memory_holds_the_host_and_one_of_pinned_memory_does_not() {
        let copy = |source, mode| Call::Copy {
            stream: StreamId(1),
            mode,
            source,
            target: Place::Device(Range { block: BlockId(1), offset: 0, bytes: 8 }),
            bytes: 8,
        };
        let pinned = || Place::Pinned(Range { block: BlockId(2), offset: 0, bytes: 8 });
        assert!(may_hold(&copy(Place::Pageable, Mode::Asynchronous)));
        assert!(!may_hold(&copy(pinned(), Mode::Asynchronous)));
        assert!(may_hold(&copy(pinned(), Mode::Synchronous)));
    }
}
