//! When each operation was issued, ready and started, and what kept it in between.
//!
//! It is read from the record, and says no more than that shows: what an operation came after by
//! the rules of CUDA, and what else ended, or started, right before it.

use std::collections::{BTreeMap, HashMap};

use crate::program::{Call, Program, StreamId};
use crate::timeline::{HostMemory, HostSpan, Interval, Span};
use crate::{Timeline, hazards};

use super::dependencies::Turns;
use super::engines::{Lane, Lanes};
use super::region::issued_ns;

/// A wait shorter than this is the gap between two operations: 7 µs between engines on an H200.
const GAP_NS: u64 = 10_000;

/// The three instants of an operation, and what it waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instants {
    /// When the host had issued it, in ns.
    pub issued_ns: u64,
    /// When all that it comes after was over, in ns.
    pub ready_ns: u64,
    /// When it started, in ns.
    pub started_ns: u64,
    /// Its waits, in the order of time.
    pub waits: Vec<Wait>,
}

/// A time for which something kept an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The thing that it waited for.
    pub what: Awaited,
    /// When.
    pub time: Interval,
}

/// The reasons why an operation waited. Operations are indices into the timeline's spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The host, which had not yet issued it: all that it comes after was over.
    Host,
    /// An operation before it in its stream.
    Stream(u32),
    /// An event, and the operation that ended last of those it stands for.
    Event {
        /// The call by which its stream waited.
        wait: u32,
        /// That operation, if there is one.
        span: Option<u32>,
    },
    /// The legacy default stream, or for an operation in it, all blocking streams.
    DefaultStream(Option<u32>),
    /// An operation of the same graph.
    Graph(u32),
    /// An operation that had its engine, or for a kernel, the multiprocessors.
    Engine(u32),
    /// An operation before it in its work queue, whose turn had not come.
    Queue(u32),
    /// The staging buffer, which the host fills from pageable memory.
    Staging,
    /// Nothing that the record shows.
    Device,
}

/// The instants of each span of `timeline`, where it is known when its call was made.
pub fn instants(program: &Program, timeline: &Timeline) -> Vec<Option<Instants>> {
    let spans = &timeline.spans;
    let host: HashMap<u32, &HostSpan> = timeline.host.iter().map(|it| (it.step, it)).collect();
    let device = Device::of(timeline);
    let mut by_step: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (index, span) in (0..).zip(spans) {
        by_step.entry(span.step).or_default().push(index);
    }
    let mut turns = Turns::new(program);
    let mut instants = vec![None; spans.len()];
    for (step, call) in (0..).zip(&program.steps) {
        turns.call(step, &call.call);
        let Some(own) = by_step.get(&step) else { continue };
        let of = |index: &u32| &spans[*index as usize];
        let last = own.iter().max_by_key(|index| of(index).end_ns).copied().unwrap_or_default();
        let stream = match call.call {
            Call::GraphLaunch { stream, .. } | Call::HostFunction { stream, .. } => stream,
            ref call => hazards::stream(call).unwrap_or(of(&last).stream),
        };
        let before = turns.operation(step, stream, of(&last).end_ns, last);
        let Some(&made) = host.get(&step) else { continue };
        for &index in own {
            let span = of(&index);
            let issued = issued_ns(&call.call, Some(made), span.start_ns);
            let issued = issued.min(span.start_ns);
            // Nodes of a graph come after others of it.
            let inner = own.iter().filter(|other| of(other).end_ns <= span.start_ns);
            let inner = inner.filter(|other| **other != index).max_by_key(|other| of(other).end_ns);
            let event = Awaited::Event { wait: before.wait.step, span: before.wait.last };
            let mut known = vec![
                (before.wait.ns, event),
                (before.barrier.ns, Awaited::DefaultStream(before.barrier.last)),
            ];
            known.extend(before.own.last.map(|last| (before.own.ns, Awaited::Stream(last))));
            known.extend(inner.map(|other| (of(other).end_ns, Awaited::Graph(*other))));
            // What the record has start before it could is the clocks' doing.
            let known = known.into_iter().map(|(ns, what)| (ns.min(span.start_ns), what));
            let (ns, what) = known.max_by_key(|(ns, _)| *ns).unwrap_or((0, Awaited::Host));
            let ready = ns.max(issued);
            let first = match ns > issued {
                true => Wait { what, time: Interval::new(issued, ns) },
                false => Wait { what: Awaited::Host, time: Interval::new(ns, issued) },
            };
            let mut waits = vec![first];
            if span.start_ns - ready > GAP_NS {
                waits.extend(device.waits(index, ready, stream));
            }
            instants[index as usize] = Some(Instants {
                issued_ns: issued,
                ready_ns: ready,
                started_ns: span.start_ns,
                waits,
            });
        }
    }
    instants
}

/// The operation whose end unblocked the host, where a call blocked it: an index into the
/// timeline's spans.
pub fn released_by(timeline: &Timeline, call: &HostSpan) -> Option<u32> {
    let blocked = call.blocked();
    let ended = (0..).zip(&timeline.spans).filter(|(_, span)| {
        blocked.ns() > 0 && span.end_ns <= blocked.end_ns && span.end_ns > blocked.start_ns
    });
    let own = |span: &Span| span.step == call.step;
    ended.max_by_key(|(index, span)| (own(span), span.end_ns, *index)).map(|(index, _)| index)
}

/// Operations of a device, by where they ran.
struct Device<'a> {
    spans: &'a [Span],
    lanes: Lanes,
    /// Operations of each lane of each device in the order of their ends.
    by_end: BTreeMap<(u32, Lane), Vec<u32>>,
}

impl<'a> Device<'a> {
    fn of(timeline: &'a Timeline) -> Self {
        let spans = &timeline.spans;
        let mut by_end: BTreeMap<(u32, Lane), Vec<u32>> = BTreeMap::new();
        for (index, span) in (0..).zip(spans) {
            if let Some(lane) = Lane::on_its_device(span) {
                by_end.entry(lane).or_default().push(index);
            }
        }
        by_end.values_mut().for_each(|it| it.sort_by_key(|i| (spans[*i as usize].end_ns, *i)));
        Self { spans, lanes: Lanes::of(timeline), by_end }
    }

    /// The waits of an operation of `stream` from when it was ready.
    fn waits(&self, index: u32, ready_ns: u64, stream: StreamId) -> Vec<Wait> {
        let of = |index: u32| &self.spans[index as usize];
        let span = of(index);
        let wait = |what, from, to| Wait { what, time: Interval::new(from, to) };
        let alone = |what| vec![wait(what, ready_ns, span.start_ns)];
        let Some(lane) = Lane::on_its_device(span) else { return alone(Awaited::Device) };
        let ended = &self.by_end[&lane];
        let until = ended.partition_point(|&other| of(other).end_ns <= span.start_ns);
        let other = ended[..until].iter().rev().copied().find(|&other| other != index);
        let close = |ns: u64| ns > ready_ns && span.start_ns - ns <= GAP_NS;
        let is_queued = |other: u32| of(other).step < span.step && of(other).stream != stream;
        let is_idle = |window: Interval| {
            window.ns() > GAP_NS && self.lanes.busy(lane.0, lane.1, window) + GAP_NS < window.ns()
        };
        if let Some(other) = other.filter(|&other| close(of(other).end_ns)) {
            let begun = of(other).start_ns;
            // Its engine stood empty until the one before it in the work queue had its turn.
            if is_queued(other) && begun > ready_ns && is_idle(Interval::new(ready_ns, begun)) {
                let queue = wait(Awaited::Queue(other), ready_ns, begun);
                return vec![queue, wait(Awaited::Engine(other), begun, span.start_ns)];
            }
            return alone(Awaited::Engine(other));
        }
        let before = ended.iter().copied().filter(|&other| other != index && is_queued(other));
        // The queue lets both go at once; which of them starts first is a matter of the way to its
        // engine.
        let close = |ns: u64| ns > ready_ns && span.start_ns.abs_diff(ns) <= GAP_NS;
        let before = before.filter(|&other| close(of(other).start_ns));
        let before = before.max_by_key(|&other| of(other).step);
        if let Some(other) = before {
            return alone(Awaited::Queue(other));
        }
        match span.host_memory {
            Some(HostMemory::Pageable) => alone(Awaited::Staging),
            _ => alone(Awaited::Device),
        }
    }
}
