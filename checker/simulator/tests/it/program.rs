//! Programs in few words.

use std::sync::LazyLock;

use simulator::{Profile, Schedule, replay};
use trace::program::*;
use trace::timeline::{Span, Timeline};

/// One MiB.
pub(crate) const MIB: u64 = 1 << 20;
/// The map kernel, which every program here has.
const MAP: KernelId = KernelId(0);
pub(crate) const MAP_OF_ITEMS: KernelId = KernelId(1);

/// A program that is being written.
pub(crate) struct Script {
    pub(crate) program: Program,
    /// The host thread that makes the calls.
    thread: u32,
    streams: u32,
    events: u32,
    blocks: u32,
}

/// Where a copy goes, and what kind of host memory is at its other end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Up(Host),
    Down(Host),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Host {
    Pinned,
    Pageable,
}

/// Read once: reading it takes longer than most programs of these tests.
pub(crate) fn h200() -> Profile {
    static H200: LazyLock<Profile> =
        LazyLock::new(|| toml::from_str(Profile::H200).expect("the built-in profile is one"));
    H200.clone()
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::from(Program::new(1))
    }

    /// On a device that was opened with this many work queues.
    pub(crate) fn with_connections(count: u32) -> Self {
        Self::with_queues(WorkQueues { kernels: count, copies: count })
    }

    /// On a device that was opened with these work queues.
    pub(crate) fn with_queues(queues: WorkQueues) -> Self {
        let mut program = Program::new(1);
        let Some(call) = queues.call() else { return Self::new() };
        program.steps.push(Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 });
        Self::from(program)
    }

    fn from(program: Program) -> Self {
        let mut script =
            Self { program, thread: 0, streams: StreamId::FIRST_CREATED, events: 0, blocks: 0 };
        script.call(Call::FunctionGet {
            kernel: MAP,
            name: "map_a".to_owned(),
            rate: "map".to_owned(),
            registers: 32,
            shared_bytes: 0,
            items: None,
            inner_loop: None,
        });
        script
    }

    pub(crate) fn call(&mut self, call: Call) -> u32 {
        let thread = self.thread;
        self.program.steps.push(Step { call, site: None, thread, gap_ns: 0, result: 0, device: 0 });
        self.program.steps.len() as u32 - 1
    }

    /// What follows are calls of this host thread.
    pub(crate) fn on_thread(&mut self, thread: u32) {
        self.thread = thread;
    }

    /// Calls of this host thread.
    pub(crate) fn on<T>(&mut self, thread: u32, calls: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.thread, thread);
        let value = calls(self);
        self.thread = before;
        value
    }

    pub(crate) fn stream(&mut self, kind: StreamKind) -> StreamId {
        let stream = StreamId(self.streams);
        self.streams += 1;
        self.call(Call::StreamCreate { stream, kind, priority: 0 });
        stream
    }

    pub(crate) fn event(&mut self) -> EventId {
        let event = EventId(self.events);
        self.events += 1;
        self.call(Call::EventCreate { event, timing: Timing::Disabled });
        event
    }

    fn range(&mut self, bytes: u64) -> Range {
        self.blocks += 1;
        Range { block: BlockId(self.blocks), offset: 0, bytes }
    }

    /// A block that is not there yet.
    pub(crate) fn block(&mut self) -> BlockId {
        self.blocks += 1;
        BlockId(self.blocks)
    }

    pub(crate) fn copy(&mut self, stream: StreamId, way: Way, bytes: u64) -> u32 {
        let device = Place::Device(self.range(bytes));
        let host = match way {
            Way::Up(Host::Pinned) | Way::Down(Host::Pinned) => Place::Pinned(self.range(bytes)),
            Way::Up(Host::Pageable) | Way::Down(Host::Pageable) => Place::Pageable,
        };
        let (source, target) = match way {
            Way::Up(_) => (host, device),
            Way::Down(_) => (device, host),
        };
        self.call(Call::Copy { stream, mode: Mode::Asynchronous, source, target, bytes })
    }

    /// A memset of so many bytes.
    pub(crate) fn memset(&mut self, stream: StreamId, bytes: u64) -> u32 {
        let target = Range { block: BlockId(0), offset: 0, bytes };
        self.call(Call::Memset { stream, mode: Mode::Asynchronous, target })
    }

    /// A map of this many blocks of 256 threads, that takes about `us` on a multiprocessor of its own
    /// or, with more blocks than multiprocessors, on the whole device.
    pub(crate) fn kernel(&mut self, stream: StreamId, blocks: u32, us: u64) -> u32 {
        let profile = h200();
        let per_us = profile.rates["map"].units_per_us_multiprocessor.value;
        let busy = u64::from(blocks).min(profile.chip.multiprocessors.value);
        self.launch(MAP, stream, blocks, [per_us * us * busy, 0])
    }

    fn launch(
        &mut self,
        kernel: KernelId,
        stream: StreamId,
        blocks: u32,
        [units, bytes]: [u64; 2],
    ) -> u32 {
        self.call(Call::Launch(Launch {
            kernel,
            stream,
            grid: [blocks, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            units,
            bytes,
            accesses: Vec::new(),
        }))
    }

    /// Tells the device of the kernel of [`over_items`](Self::over_items).
    pub(crate) fn with_items(&mut self) {
        self.call(Call::FunctionGet {
            kernel: MAP_OF_ITEMS,
            name: "map_b".to_owned(),
            rate: "map".to_owned(),
            registers: 32,
            shared_bytes: 0,
            items: Some(Items { bytes: 8, together: 4, waits: 1 }),
            inner_loop: None,
        });
    }

    /// A map of this many blocks of 256 threads that share out `items`, of `rounds` units each.
    pub(crate) fn over_items(
        &mut self,
        stream: StreamId,
        blocks: u32,
        items: u64,
        rounds: u64,
    ) -> u32 {
        self.launch(MAP_OF_ITEMS, stream, blocks, [items * rounds, 8 * items])
    }

    pub(crate) fn record(&mut self, event: EventId, stream: StreamId) -> u32 {
        self.call(Call::EventRecord { event, stream })
    }

    pub(crate) fn wait(&mut self, stream: StreamId, event: EventId) -> u32 {
        self.call(Call::StreamWait { stream, event })
    }

    pub(crate) fn synchronize(&mut self) -> u32 {
        self.call(Call::ContextSynchronize)
    }

    pub(crate) fn run(&self) -> Timeline {
        self.run_on(&h200())
    }

    pub(crate) fn run_on(&self, profile: &Profile) -> Timeline {
        replay(&self.program, profile, Schedule::Exact)
    }
}

/// The span that a step asked for.
pub(crate) fn span(timeline: &Timeline, step: u32) -> &Span {
    timeline.spans.iter().find(|span| span.step == step).expect("the step asked for work")
}

/// How long a call took the host, in ns.
pub(crate) fn host_ns(timeline: &Timeline, step: u32) -> u64 {
    let call = timeline.host.iter().find(|call| call.step == step).expect("every step is a call");
    call.end_ns - call.start_ns
}
