//! The timing core: when each operation runs, and how long each call blocks the host.
//!
//! It takes the calls of a [`Program`](trace::Program) one by one and knows neither memory contents
//! nor handles, so a recorded program can be run through it again. Operations form a graph: each
//! waits for the one before it in its stream, for what its stream was told to wait for, and for the
//! barrier of the default stream. Then it waits for its turn in a work queue, and then for an
//! engine. Before each call, all device events up to the host's clock are processed, so what an
//! engine picks depends only on what was queued by then.

mod begin;
mod blocks;
mod cache;
mod calls;
mod copy_engines;
mod graphs;
mod grids;
mod host_cache;
mod mapping;
mod memory_pool;
mod operations;
#[cfg_attr(target_arch = "wasm32", path = "peers/none.rs")]
pub(crate) mod peers;
mod ready_queue;
mod region;
mod reordering;
mod schedule;
mod scheduler;
mod streams;
mod threads;
mod wait;
mod work;
mod work_queues;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use trace::program::{DEVICES, StreamId, WorkQueues};
use trace::timeline::{Origin, Span, SpanKind, Timeline, in_order};

use crate::profile::Profile;

use operations::{Operation, OperationId, Operations};
pub use schedule::{At, Schedule};
pub(crate) use streams::OF_THREADS_ON_SECOND;
pub use wait::{Answer, Wait};
use work::{Direction, ENGINES, RunsOn, Work};

/// Speeds are counted in millionths of the speed alone.
const FULL_SPEED: u64 = 1_000_000;

/// Effects of an operation's start and of its end: the data follows the times.
pub trait Effects {
    /// The operation that `step` issued starts: it reads its inputs now. `node` is 0, or counts the
    /// nodes of the graph that the step launches from 1.
    fn start(&mut self, step: u32, node: u32);
    /// It ends: what it writes lands now.
    fn end(&mut self, step: u32, node: u32);
}

/// For the times alone.
impl Effects for () {
    fn start(&mut self, _step: u32, _node: u32) {}
    fn end(&mut self, _step: u32, _node: u32) {}
}

/// An event of the simulation and its time. The earliest one is the greatest, since a heap yields
/// that.
struct Scheduled {
    at: u64,
    /// The order of those of one time: in which they were scheduled.
    sequence: u64,
    event: Event,
}

impl Scheduled {
    /// One comparison of 128 bits for the two: a heap makes a dozen for each event.
    fn key(&self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.sequence)
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Scheduled {}

#[derive(Clone, Copy)]
enum Event {
    Ready(OperationId),
    /// `engine` counts on from one device to the next.
    TransferEnd {
        engine: u8,
        generation: u32,
    },
    BlocksEnd {
        device: u8,
        generation: u32,
    },
    FunctionStart(OperationId),
    OperationEnd(OperationId),
}

#[derive(Clone, Default)]
struct KernelFacts {
    name: Option<Arc<str>>,
    grid_facts: Option<grids::Facts>,
    /// The shape of the last launch, and the grid that it made.
    last: Option<(grids::Shape, grids::Grid)>,
}

/// The place of `index` in a list of what is numbered from 0, made as long as that takes.
fn slot<T: Clone + Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

/// State that each device has of its own.
struct Unit {
    engines: [copy_engines::Engine; ENGINES],
    pool: blocks::Pool,
    cache: cache::Cache,
    work_queues: work_queues::Queues,
    mapping: mapping::Mapping,
    memory_pool: memory_pool::MemoryPool,
    /// Whether it may use the memory of the other one: what `cuMemAlloc` gave, and what the other's
    /// default pool did.
    access: peers::Access,
}

impl Unit {
    fn new(profile: &Profile) -> Self {
        Self {
            engines: Default::default(),
            pool: blocks::Pool::new(profile),
            cache: cache::Cache::default(),
            work_queues: work_queues::Queues::new(WorkQueues::DEFAULT),
            mapping: mapping::Mapping::of_device(),
            memory_pool: memory_pool::MemoryPool::default(),
            access: peers::Access::default(),
        }
    }
}

/// The place of a device among the units. Whatever the number is, there is one, so nothing has to
/// be checked.
fn at(device: u32) -> usize {
    device as usize % DEVICES as usize
}

/// The devices of one machine and the host threads that drive them, at some instant of virtual
/// time.
pub struct Device {
    profile: Arc<Profile>,
    schedule: Schedule,
    /// The clock of the host thread whose turn it is, in ns since the start of the run.
    host_ns: u64,
    hosts: threads::Hosts,
    /// Events up to here have been worked off.
    now: u64,
    queue: BinaryHeap<Scheduled>,
    sequence: u64,
    operations: Operations,
    /// Of the streams of each device.
    unfinished: [usize; DEVICES as usize],
    last_end_ns: [u64; DEVICES as usize],
    /// How many of them are work: all but events, waits, and memory on its way from or to its pool.
    at_work: usize,
    /// Time of all operations that were issued, each alone, together, in ns.
    asked_ns: u64,
    streams: streams::Streams,
    events: Vec<Option<OperationId>>,
    /// Which events keep a time stamp.
    timed_events: Vec<bool>,
    /// The devices that freeing pinned blocks waits for; none for all others.
    pinned: Vec<Option<u32>>,
    host_mapping: mapping::Mapping,
    host_cache: host_cache::HostCache,
    kernels: Vec<KernelFacts>,
    graphs: Vec<graphs::Graph>,
    units: [Unit; DEVICES as usize],
    /// The device whose context is current as the call at hand is made.
    current: u32,
    /// Copies through the host that have not started, each with its second half.
    halves: Vec<(OperationId, OperationId)>,
    /// When the last host function that was called ends.
    functions_end: u64,
    /// Operations whose end is being worked off; a list instead of recursion, since one end can let
    /// thousands of markers go.
    ending: Vec<OperationId>,
    /// Room for what one of them lets go of.
    freed: Vec<OperationId>,
    timeline: Timeline,
    /// The host entered the measured region at this instant.
    region_start: Option<u64>,
    region: region::Region,
    reordering: reordering::Reordering,
}

impl Device {
    /// An idle device at time 0.
    pub fn new(profile: impl Into<Arc<Profile>>, schedule: Schedule) -> Self {
        let profile = profile.into();
        let timeline = Timeline::new(Origin::Simulated { profile: profile.name.clone() });
        Self {
            reordering: reordering::Reordering::of(schedule),
            schedule,
            host_ns: 0,
            hosts: threads::Hosts::default(),
            now: 0,
            queue: BinaryHeap::new(),
            sequence: 0,
            operations: Operations::new(),
            unfinished: [0; DEVICES as usize],
            last_end_ns: [0; DEVICES as usize],
            at_work: 0,
            asked_ns: 0,
            streams: streams::Streams::default(),
            events: Vec::new(),
            timed_events: Vec::new(),
            pinned: Vec::new(),
            host_mapping: mapping::Mapping::of_host(),
            host_cache: host_cache::HostCache::default(),
            kernels: Vec::new(),
            graphs: Vec::new(),
            units: peers::units(&profile),
            current: 0,
            halves: Vec::new(),
            functions_end: 0,
            ending: Vec::new(),
            freed: Vec::new(),
            timeline,
            region_start: None,
            region: region::Region::NONE,
            profile,
        }
    }

    /// Reserves room for `calls` calls.
    pub(crate) fn expect(&mut self, calls: usize) {
        self.operations.reserve(calls);
        self.timeline.spans.reserve(calls);
        self.timeline.host.reserve(calls);
    }

    /// The figures it works by.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// The clock of the host thread whose turn it is, in ns since the start of the run.
    pub fn host_ns(&self) -> u64 {
        self.host_ns
    }

    /// Time of all operations that were issued so far, each alone, together, in ns.
    pub(crate) fn asked_ns(&self) -> u64 {
        self.asked_ns
    }

    /// Whether all work has ended by the host's clock.
    pub fn is_idle(&self) -> bool {
        self.unfinished == [0; DEVICES as usize]
    }

    /// Whether any work is unfinished by the host's clock. Events, and memory that goes back to its
    /// pool, are none.
    pub fn is_at_work(&self) -> bool {
        self.at_work > 0
    }

    /// The timeline so far. Spans come in the order of their ends; [`Device::take_timeline`] sorts
    /// them.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Takes the timeline, in the order that a [`Timeline`] promises; nothing of it is left here.
    pub fn take_timeline(&mut self) -> Timeline {
        let origin = self.timeline.origin.clone();
        let mut timeline = std::mem::replace(&mut self.timeline, Timeline::new(origin));
        timeline.spans = in_order(timeline.spans, |span| (span.start_ns, span.step));
        timeline.host = in_order(timeline.host, |call| (0, call.step));
        timeline
    }

    /// Queues an operation that the host issues now. `visible_ns` is when the device can see it.
    fn submit(
        &mut self,
        step: u32,
        stream: StreamId,
        work: Work,
        visible_ns: u64,
        after: Option<OperationId>,
    ) -> OperationId {
        let id = self.add(step, 0, stream, work, visible_ns);
        let known = &mut self.streams[stream];
        if work.is_work() {
            known.waiting += 1;
        }
        let (blocking, tail) = (known.blocking, known.tail.replace(id));
        for before in [tail, after].into_iter().flatten() {
            self.depend(before, id);
        }
        if stream.is_legacy() {
            // The barrier: after everything that blocking streams hold so far …
            self.after_blocking(stream, id);
        } else if blocking && let Some(barrier) = self.streams[stream.legacy()].tail {
            // … and before everything that they are given from now on.
            self.depend(barrier, id);
        }
        self.enqueue(id);
        id
    }

    /// An operation comes after all that the blocking streams of a device hold so far, but for its
    /// default stream.
    fn after_blocking(&mut self, legacy: StreamId, id: OperationId) {
        let before: Vec<OperationId> = self
            .streams
            .iter()
            .filter(|(other, it)| it.blocking && *other != legacy && other.legacy() == legacy)
            .filter_map(|(_, it)| it.tail)
            .collect();
        for tail in before {
            self.depend(tail, id);
        }
    }

    /// Adds an operation that waits for nothing yet and is in no queue.
    fn add(
        &mut self,
        step: u32,
        node: u32,
        stream: StreamId,
        work: Work,
        visible_ns: u64,
    ) -> OperationId {
        self.asked_ns = self.asked_ns.saturating_add(work.alone_ns());
        self.unfinished[at(stream.device())] += 1;
        self.at_work += usize::from(work.is_work());
        self.operations.add(step, node, stream, work, visible_ns)
    }

    fn depend(&mut self, on: OperationId, id: OperationId) {
        match self.has_ended(on) {
            true => self.follow(on, id),
            false => self.operations.depend(on, id),
        }
    }

    /// `id` comes after `on`, which has ended: no sooner than the gap between the two.
    fn follow(&mut self, on: OperationId, id: OperationId) {
        let &Operation { end_ns, runs_on: from, node, step, is_release, device, .. } =
            &self.operations[on];
        let gaps = &self.profile.gaps;
        let in_flight = self.operations.in_flight(id);
        let (is_marker, home) = (matches!(in_flight.work, Work::Marker), in_flight.home());
        let operation = &mut self.operations[id];
        let gap = match (from, operation.runs_on) {
            (RunsOn::Nowhere, _) => 0,
            _ if is_marker => {
                operation.runs_on = from;
                0
            }
            // Several in a row cost no more than one (measured).
            _ if operation.is_release => {
                operation.runs_on = from;
                if is_release { 0 } else { gaps.release_ns.value }
            }
            (RunsOn::Multiprocessors, RunsOn::Multiprocessors)
                if node > 0 && step == operation.step =>
            {
                gaps.graph_kernel_ns.value
            }
            (RunsOn::Multiprocessors, RunsOn::Multiprocessors) => gaps.kernel_ns.value,
            (from, to) if from == to => gaps.copy_ns.value,
            _ => gaps.crossing_ns.value,
        };
        let heard = match from {
            RunsOn::Nowhere => 0,
            _ if device == home => 0,
            _ => peers::heard_ns(&self.profile, node),
        };
        let not_before = &mut self.operations.in_flight_mut(id).not_before;
        *not_before = (*not_before).max(end_ns + gap + heard);
    }

    /// Nothing holds the operation back any more but time and engines: it has left its work queue.
    fn release(&mut self, id: OperationId) {
        if self.is_held_back(id) {
            return;
        }
        let operation = self.operations.in_flight(id);
        let ready = operation.not_before.max(self.now);
        match operation.work {
            Work::Marker | Work::Release if ready <= self.now => {
                self.ending.push(id);
                return;
            }
            Work::Transfer { direction, .. } => self.keep_engine(id, direction, ready),
            _ => {}
        }
        self.schedule(ready, Event::Ready(id));
    }

    fn schedule(&mut self, time: u64, event: Event) {
        self.sequence += 1;
        self.queue.push(Scheduled { at: time, sequence: self.sequence, event });
    }

    /// Works off all events up to `time`.
    fn run_until(&mut self, time: u64, effects: &mut impl Effects) {
        self.work_off_ends(effects);
        while let Some(&Scheduled { at, event, .. }) = self.queue.peek()
            && at <= time
        {
            self.queue.pop();
            self.now = at;
            self.handle(event, effects);
        }
        self.now = self.now.max(time);
    }

    /// Works off events until `id` has ended, or there is no need to wait.
    fn run_to_end_of(
        &mut self,
        id: OperationId,
        goes_on: impl Fn(&Self) -> bool,
        effects: &mut impl Effects,
    ) {
        self.work_off_ends(effects);
        while !self.has_ended(id) && !goes_on(self) {
            self.next_event(effects);
        }
    }

    /// Processes the next event. While an operation is unfinished and none is delayed there always
    /// is one, because an operation waits only for work that was queued before it.
    fn next_event(&mut self, effects: &mut impl Effects) {
        if self.queue.is_empty() && self.give_way() {
            return self.work_off_ends(effects);
        }
        let Scheduled { at, event, .. } =
            self.queue.pop().expect("an unfinished operation has an event ahead");
        self.now = at;
        self.handle(event, effects);
    }

    fn handle(&mut self, event: Event, effects: &mut impl Effects) {
        match event {
            Event::Ready(id) => match self.operations.in_flight(id).work {
                Work::Marker | Work::Release => self.ending.push(id),
                Work::Transfer { direction, target, .. } => {
                    self.pass_cache(target);
                    self.transfer_ready(id, direction, effects);
                }
                Work::Memory { grid, target, .. } => {
                    self.take_to_cache(id, target);
                    self.grid_ready(id, grid, effects);
                }
                Work::Kernel { source, target, .. } => {
                    let grid = self.read_by_cache(id, source, target);
                    self.grid_ready(id, grid, effects);
                }
                Work::HostFunction => self.call_function(id),
            },
            Event::FunctionStart(id) => {
                self.begin(id, effects);
                let end = self.now + self.profile.host.host_function_run_ns.value;
                self.schedule(end, Event::OperationEnd(id));
            }
            Event::TransferEnd { engine, generation } => {
                self.transfer_end(engine, generation, effects);
            }
            Event::BlocksEnd { device, generation } => {
                self.blocks_end(device, generation, effects);
            }
            Event::OperationEnd(id) => self.ending.push(id),
        }
        self.work_off_ends(effects);
    }

    /// A host function's turn has come. One thread of the driver's calls them all, one after the
    /// other, and sleeps where there is none to call.
    fn call_function(&mut self, id: OperationId) {
        let is_awake = self.now <= self.functions_end + self.profile.gaps.copy_ns.value;
        let wake = if is_awake { 0 } else { self.profile.gaps.function_wake_ns.value };
        let start = self.now.max(self.functions_end) + wake;
        self.functions_end = start + self.profile.host.host_function_run_ns.value;
        self.schedule(start, Event::FunctionStart(id));
    }

    /// The operation starts now.
    fn begin(&mut self, id: OperationId, effects: &mut impl Effects) {
        let &Operation { step, node, .. } = &self.operations[id];
        let in_flight = self.operations.in_flight_mut(id);
        in_flight.start_ns = self.now;
        if node == 0 {
            let waiting = &mut self.streams[in_flight.stream].waiting;
            *waiting = waiting.saturating_sub(1);
        }
        self.starts_now(step, node);
        effects.start(step, node);
        if !self.halves.is_empty() {
            self.start_half(id);
        }
    }

    /// Ends what has come to its end, and lets go what waited for it.
    fn work_off_ends(&mut self, effects: &mut impl Effects) {
        while let Some(id) = self.ending.pop() {
            let mut freed = std::mem::take(&mut self.freed);
            let &Operation { step, node, .. } = &self.operations[id];
            if let Some(span) = self.span(id) {
                self.timeline.spans.push(span);
            }
            let ended = self.operations.end(id, self.now, &mut freed);
            let (own_queue, queue) = (ended.queue, ended.queue.or(ended.after));
            let device = at(ended.home().into());
            self.at_work -= usize::from(ended.work.is_work());
            self.unfinished[device] -= 1;
            self.last_end_ns[device] = self.now;
            self.leave_queue(own_queue);
            effects.end(step, node);
            self.is_over_now(step, node);
            freed.retain(|&to| {
                self.follow(id, to);
                let dependent = self.operations.in_flight_mut(to);
                dependent.pending -= 1;
                dependent.after = queue;
                dependent.pending == 0
            });
            // The last one comes first: they are released in the order of issue, and those of them
            // that end at once do so in that order too, with what waits for each.
            let others = self.ending.len();
            for id in freed.drain(..).rev() {
                self.hand_over(id, queue);
                self.ready_to_issue(id);
            }
            self.ending[others..].reverse();
            self.freed = freed;
        }
    }

    /// The span of an operation that ends now; none of one that shows nothing.
    fn span(&self, id: OperationId) -> Option<Span> {
        let ended = self.operations.in_flight(id);
        let mut name = None;
        let (kind, bytes, host_memory) = match ended.work {
            Work::Marker | Work::Release => return None,
            #[cfg(not(target_arch = "wasm32"))]
            Work::Transfer { direction: Direction::FromPeer { .. }, .. } => {
                return None; // its first half is the whole copy
            }
            Work::Transfer { direction, bytes, memory, .. } => {
                let kind = direction.span_kind();
                let memory = (DEVICES == 1 || kind.is_transfer()).then_some(memory);
                (kind, bytes, memory)
            }
            Work::Memory { kind, bytes, .. } => (kind, bytes, None),
            Work::Kernel { kernel, .. } => {
                name.clone_from(&self.kernels[kernel.0 as usize].name);
                (SpanKind::Kernel, 0, None)
            }
            Work::HostFunction => (SpanKind::HostFunction, 0, None),
        };
        Some(Span {
            step: self.operations[id].step,
            kind,
            name,
            stream: streams::as_asked(ended.stream),
            start_ns: ended.start_ns,
            end_ns: self.now,
            bytes,
            host_memory,
        })
    }
}
