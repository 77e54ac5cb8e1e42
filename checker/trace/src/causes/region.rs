//! A program beside its timeline: the calls of the measured region with their times.

use std::collections::HashMap;
use std::ops::Range;

use crate::program::{Call, KernelId, Program, StreamId};
use crate::timeline::{HostSpan, Interval};
use crate::{Timeline, hazards};

use super::engines::{Lane, Lanes};

/// One operation of the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) step: u32,
    pub(super) lane: Lane,
    pub(super) stream: StreamId,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// When the host had issued it, in ns.
    pub(super) issued_ns: u64,
}

impl Op {
    pub(super) fn takes_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// The time of the shortest launch of each kernel with each grid, in ns.
pub(super) struct Shortest(HashMap<(KernelId, [u32; 3]), u64>);

impl Shortest {
    pub(super) fn of(view: &View<'_>) -> Self {
        let mut shortest = HashMap::new();
        for op in &view.ops {
            if let Some(grid) = view.grid(op) {
                let known = shortest.entry(grid).or_insert(u64::MAX);
                *known = op.takes_ns().min(*known);
            }
        }
        Self(shortest)
    }

    /// That of the launch that an operation is; none of another operation.
    pub(super) fn launch(&self, view: &View<'_>, op: &Op) -> Option<u64> {
        self.0.get(&view.grid(op)?).copied()
    }
}

pub(super) struct View<'a> {
    pub(super) program: &'a Program,
    pub(super) timeline: &'a Timeline,
    pub(super) region: Interval,
    pub(super) lanes: Lanes,
    /// The steps of the measured region, or all.
    pub(super) steps: Range<usize>,
    /// Operations that the region issued, in that order.
    pub(super) ops: Vec<Op>,
    host: HashMap<u32, &'a HostSpan>,
}

/// The steps of the last measured region, without its two marks; all steps where there is none.
pub fn region(program: &Program) -> Range<usize> {
    let steps = &program.steps;
    let end = steps.iter().rposition(|step| step.call == Call::RegionEnd);
    let begin = end.and_then(|end| {
        let before = &steps[..end];
        before.iter().rposition(|step| step.call == Call::RegionBegin)
    });
    match (begin, end) {
        (Some(begin), Some(end)) => begin + 1..end,
        _ => 0..steps.len(),
    }
}

/// When the host had issued an operation that started at `start_ns`.
pub(super) fn issued_ns(call: &Call, host: Option<&HostSpan>, start_ns: u64) -> u64 {
    host.map_or(start_ns, |host| match call {
        // A call that blocks on a full stream queues its work at the end; one that blocks on its
        // own work, before.
        Call::Copy { .. } => host.end_ns - host.blocked_ns.min(host.end_ns),
        _ => host.end_ns,
    })
}

impl<'a> View<'a> {
    /// Which kernel an operation is a launch of, with which grid.
    pub(super) fn grid(&self, op: &Op) -> Option<(KernelId, [u32; 3])> {
        match self.call(op.step) {
            Call::Launch(launch) => Some((launch.kernel, launch.grid)),
            _ => None,
        }
    }

    pub(super) fn new(program: &'a Program, timeline: &'a Timeline) -> Self {
        let steps = region(program);
        let host: HashMap<u32, &HostSpan> =
            timeline.host.iter().map(|span| (span.step, span)).collect();
        let mut ops: Vec<Op> = Vec::new();
        let mut spans: Vec<_> = timeline.spans.iter().collect();
        spans.sort_by_key(|span| (span.step, span.start_ns));
        for span in spans {
            let Some(lane) = Lane::of(span.kind) else { continue };
            if !steps.contains(&(span.step as usize)) {
                continue;
            }
            // The operations of a graph count as one.
            if let Some(last) = ops.last_mut().filter(|last| last.step == span.step) {
                last.end_ns = last.end_ns.max(span.end_ns);
                continue;
            }
            let step = &program.steps[span.step as usize];
            let issued_ns = issued_ns(&step.call, host.get(&span.step).copied(), span.start_ns);
            ops.push(Op {
                step: span.step,
                lane,
                stream: hazards::stream(&step.call).unwrap_or(span.stream),
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                issued_ns,
            });
        }
        let region = timeline.extent();
        Self { program, timeline, region, lanes: Lanes::of(timeline), steps, ops, host }
    }

    /// The times of a call.
    pub(super) fn host(&self, step: u32) -> Option<&'a HostSpan> {
        self.host.get(&step).copied()
    }

    pub(super) fn call(&self, step: u32) -> &'a Call {
        &self.program.steps[step as usize].call
    }

    /// The calls of the region that succeeded.
    pub(super) fn calls(&self) -> impl Iterator<Item = (u32, &'a Call)> {
        let steps = &self.program.steps;
        let range = self.steps.clone();
        let all = range.map(move |index| (index as u32, &steps[index]));
        all.filter(|(_, step)| step.result == 0).map(|(index, step)| (index, &step.call))
    }
}
