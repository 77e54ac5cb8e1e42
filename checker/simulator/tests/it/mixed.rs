//! What holds for every program of several host threads, with graphs, host functions, stream-ordered
//! memory and priorities: checked on thousands of random ones.

use std::collections::{BTreeMap, BTreeSet};

use simulator::bounds::{TaskKernel, TaskWork, bounds};
use simulator::{Schedule, replay};
use trace::program::*;
use trace::timeline::{Span, SpanKind, Timeline};

use crate::program::*;
use crate::properties::Dice;

/// A random program and what must hold of it.
struct Mixed {
    script: Script,
    /// Steps whose work must have ended before that of another starts.
    order: Vec<(u32, u32)>,
    work: TaskWork,
    /// What each step must show: kinds and bytes of its spans, sorted.
    shows: BTreeMap<u32, Vec<(SpanKind, u64)>>,
    graph: Vec<GraphNode>,
}

/// What a host thread has, and what it knows to be over.
#[derive(Clone, Default)]
struct Thread {
    streams: Vec<StreamId>,
    events: Vec<EventId>,
    known: BTreeSet<u32>,
    sent: u32,
}

#[derive(Default)]
struct Queues {
    last: BTreeMap<StreamId, u32>,
    waiting: BTreeMap<StreamId, Vec<u32>>,
    recorded: BTreeMap<EventId, Option<u32>>,
}

const GRAPH: GraphId = GraphId(0);

impl Mixed {
    fn random(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut script = Script::new();
        let workers = dice.below(4) as u32;
        let mut threads: Vec<Thread> = (0..=workers).map(|_| Thread::default()).collect();
        for thread in &mut threads {
            for _ in 0..1 + dice.below(3) {
                let kind = [StreamKind::NonBlocking, StreamKind::Blocking][dice.below(2) as usize];
                let stream = script.stream(kind);
                let last = script.program.steps.last_mut().expect("a stream has been made");
                let Call::StreamCreate { priority, .. } = &mut last.call else { unreachable!() };
                *priority = -(dice.below(6) as i32);
                thread.streams.push(stream);
            }
            thread.events = (0..2).map(|_| script.event()).collect();
        }
        let mut mixed = Self {
            script,
            order: Vec::new(),
            work: TaskWork::default(),
            shows: BTreeMap::new(),
            graph: Vec::new(),
        };
        mixed.capture(&mut dice, threads[0].streams[0]);
        mixed.script.call(Call::RegionBegin);
        let mut queues = Queues::default();
        // What the main thread learns from each worker's messages, in order.
        let mut told: Vec<Vec<BTreeSet<u32>>> = vec![Vec::new()];
        for (number, thread) in (1..).zip(&mut threads[1..]) {
            let channel = ChannelId(number);
            let capacity = (dice.below(2) == 0).then(|| 1 + dice.below(2) as u32);
            mixed.script.call(Call::ChannelCreate { channel, capacity });
            mixed.script.call(Call::ThreadSpawn { thread: number });
            let mut messages = Vec::new();
            mixed.script.on_thread(number);
            for _ in 0..dice.below(20) {
                mixed.act(&mut dice, thread, &mut queues);
                if dice.below(5) == 0 {
                    let message = Some(thread.sent);
                    mixed.script.call(Call::ChannelSend { channel, message });
                    thread.sent += 1;
                    messages.push(thread.known.clone());
                }
            }
            mixed.script.call(Call::ThreadEnd);
            messages.push(thread.known.clone());
            told.push(messages);
            mixed.script.on_thread(0);
        }
        let main = &mut threads[0];
        let mut received = vec![0; told.len()];
        for _ in 0..4 + dice.below(20) {
            mixed.act(&mut dice, main, &mut queues);
            let from = dice.below(told.len() as u64) as usize;
            if received[from] + 1 < told[from].len() {
                mixed.receive(from, &mut received, &told, &mut main.known);
            }
        }
        for from in 1..told.len() {
            while received[from] + 1 < told[from].len() {
                mixed.receive(from, &mut received, &told, &mut main.known);
            }
            mixed.script.call(Call::ThreadJoin { thread: from as u32 });
            main.known.extend(&told[from][received[from]]);
            mixed.act(&mut dice, main, &mut queues);
        }
        mixed.script.synchronize();
        mixed.script.call(Call::RegionEnd);
        mixed
    }

    fn receive(
        &mut self,
        from: usize,
        received: &mut [usize],
        told: &[Vec<BTreeSet<u32>>],
        known: &mut BTreeSet<u32>,
    ) {
        let message = Some(received[from] as u32);
        self.script.call(Call::ChannelReceive { channel: ChannelId(from as u32), message });
        known.extend(&told[from][received[from]]);
        received[from] += 1;
    }

    /// A graph of a few kernels, copies and memsets, each after some of those before it.
    fn capture(&mut self, dice: &mut Dice, stream: StreamId) {
        for index in 0..1 + dice.below(5) as u32 {
            match dice.below(3) {
                0 => _ = self.script.kernel(stream, 1 + dice.below(300) as u32, 1 + dice.below(50)),
                1 => _ = self.script.copy(stream, Way::Up(Host::Pinned), 1 + dice.below(MIB)),
                _ => _ = self.script.memset(stream, 1 + dice.below(MIB)),
            }
            let step = self.script.program.steps.pop().expect("a step has just been made");
            let after = (0..index).filter(|_| dice.below(2) == 0).collect();
            self.graph.push(GraphNode { call: step.call, after, site: None });
        }
        let nodes = self.graph.clone();
        self.script.call(Call::GraphCreate { graph: GRAPH, nodes });
        self.script.call(Call::GraphInstantiate { graph: GRAPH, updates: None });
    }

    /// One thing that a thread does.
    fn act(&mut self, dice: &mut Dice, thread: &mut Thread, queues: &mut Queues) {
        let stream = thread.streams[dice.below(thread.streams.len() as u64) as usize];
        let event = thread.events[dice.below(2) as usize];
        let bytes = 1 + dice.below(4 * MIB);
        let host = if dice.below(4) == 0 { Host::Pageable } else { Host::Pinned };
        let script = &mut self.script;
        let step = match dice.below(13) {
            0 => script.copy(stream, Way::Up(host), bytes),
            1 => script.copy(stream, Way::Down(host), bytes),
            2 | 3 => script.kernel(stream, 1 + dice.below(1500) as u32, 1 + dice.below(200)),
            4 => script.memset(stream, bytes),
            5 => script.call(Call::HostFunction { stream, accesses: vec![] }),
            6 => script.call(Call::GraphLaunch {
                graph: GRAPH,
                copy: 0,
                stream,
                accesses: Vec::new(),
            }),
            7 => {
                let block = BlockId(1_000_000 + script.program.steps.len() as u32);
                script.call(Call::AllocAsync { block, bytes, stream });
                script.call(Call::FreeAsync { block, stream });
                return;
            }
            8 => {
                script.record(event, stream);
                queues.recorded.insert(event, queues.last.get(&stream).copied());
                return;
            }
            9 => {
                script.wait(stream, event);
                let recorded = queues.recorded.get(&event).copied().flatten();
                queues.waiting.entry(stream).or_default().extend(recorded);
                return;
            }
            10 => {
                script.call(Call::StreamSynchronize { stream });
                thread.known.extend(queues.last.get(&stream));
                return;
            }
            11 => {
                script.call(Call::EventSynchronize { event });
                thread.known.extend(queues.recorded.get(&event).copied().flatten());
                return;
            }
            _ => {
                script.call(Call::HostWork { ns: dice.below(300_000), target: None });
                return;
            }
        };
        let call = self.script.program.steps[step as usize].call.clone();
        let shows = match &call {
            Call::GraphLaunch { .. } => self.graph.iter().map(|node| shows(&node.call)).collect(),
            call => vec![shows(call)],
        };
        self.count(&call);
        self.shows.insert(step, sorted(shows));
        let before = queues.last.insert(stream, step).into_iter();
        let waits = queues.waiting.remove(&stream).unwrap_or_default();
        let before = before.chain(waits).chain(thread.known.iter().copied());
        self.order.extend(before.map(|before| (before, step)));
    }

    fn count(&mut self, call: &Call) {
        match call {
            Call::Launch(launch) => self.work.kernels.push(kernel(launch.units)),
            Call::Copy { bytes, .. } if call.direction() == Some(Direction::HostToDevice) => {
                self.work.host_to_device_bytes += bytes;
            }
            Call::Copy { bytes, .. } => self.work.device_to_host_bytes += bytes,
            Call::GraphLaunch { .. } => {
                for node in self.graph.clone() {
                    self.count(&node.call);
                }
            }
            _ => {}
        }
    }

    fn check(&self, timeline: &Timeline, seed: u64) {
        let mut by_step: BTreeMap<u32, Vec<&Span>> = BTreeMap::new();
        for span in &timeline.spans {
            by_step.entry(span.step).or_default().push(span);
        }
        // Everything ran, once, with its bytes.
        let found: BTreeMap<u32, Vec<(SpanKind, u64)>> = by_step
            .iter()
            .map(|(&step, spans)| {
                (step, sorted(spans.iter().map(|it| (it.kind, it.bytes)).collect()))
            })
            .collect();
        assert_eq!(found, self.shows, "seed {seed}");
        // In the order of streams, events, synchronisation, messages and joins.
        for (before, after) in &self.order {
            let end = by_step[before].iter().map(|span| span.end_ns).max();
            let start = by_step[after].iter().map(|span| span.start_ns).min();
            assert!(end <= start, "seed {seed}: step {before} before step {after}");
        }
        // One at a time on each copy engine.
        for kind in [SpanKind::HostToDevice, SpanKind::DeviceToHost] {
            let of_engine = timeline.spans.iter().filter(|span| span.kind == kind);
            let mut busy: Vec<_> = of_engine.map(|span| (span.start_ns, span.end_ns)).collect();
            busy.sort_unstable();
            assert!(busy.windows(2).all(|pair| pair[0].1 <= pair[1].0), "seed {seed}: {kind:?}");
        }
        // Nothing before it was asked for; each host thread makes one call after the other.
        let mut clocks: BTreeMap<u32, u64> = BTreeMap::new();
        assert_eq!(timeline.host.len(), self.script.program.steps.len(), "seed {seed}: all calls");
        for (call, step) in timeline.host.iter().zip(&self.script.program.steps) {
            let clock = clocks.entry(step.thread).or_default();
            assert!(*clock <= call.start_ns && call.start_ns <= call.end_ns, "seed {seed}");
            *clock = call.end_ns;
            let spans = by_step.get(&call.step).into_iter().flatten();
            let early = spans.copied().find(|span| span.start_ns <= call.start_ns);
            assert_eq!(early, None, "seed {seed}: it ran before it was asked for");
        }
        // No quicker than its work, no slower than all of it in a row.
        let makespan = timeline.region.expect("the region ended").ns();
        let floor = bounds(&self.work, &h200().into()).expect("the rate is known").floor_ns;
        assert!(makespan >= floor, "seed {seed}: {makespan} ns, under the floor of {floor} ns");
        let spans: u64 = timeline.spans.iter().map(|span| span.interval().ns()).sum();
        // A call or a gap takes 30 µs at most, the host's own copy of a staged piece 250 µs; each node
        // of a graph may have a gap of its own.
        let most = |call: &Call| match call {
            Call::HostWork { ns, .. } => *ns,
            Call::Copy { source: Place::Pageable, .. }
            | Call::Copy { target: Place::Pageable, .. } => 250_000,
            _ => 30_000 * (1 + self.graph.len() as u64),
        };
        let calls: u64 = self.script.program.steps.iter().map(|step| most(&step.call)).sum();
        assert!(makespan <= spans + calls, "seed {seed}: {makespan} ns for {spans} + {calls} ns");
    }
}

fn shows(call: &Call) -> (SpanKind, u64) {
    match call {
        Call::Launch(_) => (SpanKind::Kernel, 0),
        Call::Memset { target, .. } => (SpanKind::Memset, target.bytes),
        Call::HostFunction { .. } => (SpanKind::HostFunction, 0),
        Call::Copy { bytes, .. } if call.direction() == Some(Direction::HostToDevice) => {
            (SpanKind::HostToDevice, *bytes)
        }
        Call::Copy { bytes, .. } => (SpanKind::DeviceToHost, *bytes),
        other => unreachable!("no work of the device: {other:?}"),
    }
}

fn sorted(mut shows: Vec<(SpanKind, u64)>) -> Vec<(SpanKind, u64)> {
    shows.sort_unstable();
    shows
}

#[test]
fn order_engines_clocks_and_bytes_hold_for_random_programs_of_several_threads() {
    for seed in 0..2000 {
        let mixed = Mixed::random(seed);
        mixed.check(&mixed.script.run(), seed);
    }
}

#[test]
fn several_threads_give_the_same_bytes_every_time() {
    for seed in 0..200 {
        let Mixed { script, .. } = Mixed::random(seed);
        for schedule in [Schedule::Exact, Schedule::Perturbed(seed)] {
            let json =
                |_| serde_json::to_string(&replay(&script.program, &h200(), schedule)).unwrap();
            assert_eq!(json(1), json(2), "seed {seed}");
        }
    }
}

/// Work that may have the whole device.
fn kernel(units: u64) -> TaskKernel {
    TaskKernel { rate: "map".to_owned(), units, ..TaskKernel::default() }
}
