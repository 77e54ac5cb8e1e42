//! From a timeline alone: when each lane is busy, and what is lost while the host is blocked.
//!
//! Nothing here needs a program, so it holds for traces of other tools too. It takes the number of
//! a call for its place in the order of calls, and a span to carry the number of its call.

use std::collections::BTreeMap;

use crate::Timeline;
use crate::metrics::Coverage;
use crate::timeline::{Interval, Span, SpanKind};

/// Lanes of a device, which run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The multiprocessors.
    Kernels,
    /// The way to the device.
    Up,
    /// The way to the host.
    Down,
    /// Copies and memsets inside device memory.
    Memory,
    /// The way to another device.
    Between,
}

impl Lane {
    /// Where work of this kind runs; none for what runs on the host.
    pub fn of(kind: SpanKind) -> Option<Self> {
        match kind {
            SpanKind::Kernel => Some(Self::Kernels),
            SpanKind::HostToDevice => Some(Self::Up),
            SpanKind::DeviceToHost => Some(Self::Down),
            SpanKind::DeviceToDevice | SpanKind::Memset => Some(Self::Memory),
            SpanKind::PeerToPeer => Some(Self::Between),
            // No exercise has copies from host to host.
            SpanKind::HostToHost | SpanKind::HostFunction => None,
        }
    }

    /// Where an operation runs, with the device of its stream: each has lanes of its own.
    pub(super) fn on_its_device(span: &Span) -> Option<(u32, Self)> {
        Some((span.stream.device(), Self::of(span.kind)?))
    }
}

/// When each lane of each device of a timeline is busy.
#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: BTreeMap<(u32, Lane), Busy>,
}

#[derive(Clone, Debug)]
struct Busy {
    pieces: Vec<Interval>,
    /// How long the lane was busy before each piece, in ns.
    before: Vec<u64>,
    last_step: u32,
}

impl Busy {
    /// How long the lane was busy up to an instant, in ns.
    fn until(&self, ns: u64) -> u64 {
        let index = self.pieces.partition_point(|piece| piece.start_ns < ns);
        match index.checked_sub(1) {
            Some(last) => {
                let piece = self.pieces[last];
                self.before[last] + ns.min(piece.end_ns) - piece.start_ns
            }
            None => 0,
        }
    }

    fn within(&self, window: Interval) -> u64 {
        self.until(window.end_ns) - self.until(window.start_ns)
    }
}

impl Lanes {
    /// The lanes of `timeline`, inside its extent.
    pub fn of(timeline: &Timeline) -> Self {
        let extent = timeline.extent();
        let mut spans: BTreeMap<(u32, Lane), (Vec<Interval>, u32)> = BTreeMap::new();
        for span in &timeline.spans {
            let inside = span.interval().clip(extent);
            if let Some(lane) = Lane::on_its_device(span)
                && inside.ns() > 0
            {
                let (intervals, last_step) = spans.entry(lane).or_default();
                intervals.push(inside);
                *last_step = span.step.max(*last_step);
            }
        }
        let lanes = spans.into_iter().map(|(lane, (intervals, last_step))| {
            let pieces = Coverage::of(intervals).pieces().to_vec();
            let mut sum = 0;
            let before = pieces.iter().map(|piece| {
                sum += piece.ns();
                sum - piece.ns()
            });
            let before = before.collect();
            (lane, Busy { pieces, before, last_step })
        });
        Self { lanes: lanes.collect() }
    }

    /// How long, inside `window`, a lane that was given work by a call after `step` stood empty: of
    /// the lane that lost most, in ns.
    pub fn lost(&self, window: Interval, step: u32) -> u64 {
        let to_come = self.lanes.values().filter(|busy| busy.last_step > step);
        to_come.map(|busy| window.ns().saturating_sub(busy.within(window))).max().unwrap_or(0)
    }

    /// How long a lane of a device was busy inside `window`, in ns.
    pub fn busy(&self, device: u32, lane: Lane, window: Interval) -> u64 {
        self.lanes.get(&(device, lane)).map_or(0, |busy| busy.within(window))
    }

    /// How long, inside `window`, nothing ran in any lane, in ns.
    pub fn idle(&self, window: Interval) -> u64 {
        // Short windows, few pieces: those that meet it are found by their order.
        let meeting = self.lanes.values().flat_map(|busy| {
            let first = busy.pieces.partition_point(|piece| piece.end_ns <= window.start_ns);
            busy.pieces[first..].iter().take_while(|piece| piece.start_ns < window.end_ns)
        });
        window.ns() - Coverage::of(meeting.map(|piece| piece.clip(window))).ns()
    }

    /// The lane that is busy longest, and for how long, in ns.
    pub fn busiest(&self) -> Option<(Lane, u64)> {
        let all = self.lanes.iter().map(|(&(_, lane), busy)| (lane, busy.until(u64::MAX)));
        all.max_by_key(|&(lane, ns)| (ns, std::cmp::Reverse(lane)))
    }
}

/// A call that blocked the host while lanes with work still to come were empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The call.
    pub step: u32,
    /// How long it blocked the host, in ns.
    pub blocked_ns: u64,
    /// How long such a lane stood empty, in ns.
    pub lost_ns: u64,
}

/// The most time that a blocked host needs to give the device work again, in ns. Waking up, a
/// launch and its way to the device take 7 µs on an H200, which is charged to the call that blocked
/// it.
const AFTERMATH_NS: u64 = 20_000;

/// All calls of `timeline` that blocked the host and lost time by it, in the order of the calls.
pub fn blocked(timeline: &Timeline) -> Vec<Blocked> {
    let lanes = Lanes::of(timeline);
    let extent = timeline.extent();
    let mut starts: Vec<(u32, u64)> = timeline
        .spans
        .iter()
        .filter(|span| Lane::of(span.kind).is_some())
        .map(|span| (span.step, span.start_ns))
        .collect();
    starts.sort_unstable();
    let calls = timeline.host.iter().filter(|call| call.blocked_ns > 0);
    let blocked = calls.map(|call| {
        let next = starts.partition_point(|&(step, _)| step <= call.step);
        let next_ns = starts.get(next).map_or(call.end_ns, |&(_, start_ns)| start_ns);
        let until = next_ns.clamp(call.end_ns, call.end_ns.saturating_add(AFTERMATH_NS));
        let window = Interval::new(call.blocked().start_ns, until).clip(extent);
        let lost_ns = lanes.lost(window, call.step);
        Blocked { step: call.step, blocked_ns: call.blocked_ns, lost_ns }
    });
    blocked.filter(|call| call.lost_ns > 0).collect()
}
