//! The critical path: the chain of work and calls that made a run as long as it was.
//!
//! It is followed back from the operation that ended last. Of all that an operation had to wait
//! for, it came after what ended last. That may be the operation before it in its stream, the one
//! that an event stood for, the one that had its engine, or the call that issued it. A call comes
//! after the last call of its thread that blocked the host, and that after the work that it waited
//! for. Few traces record what the waits of streams were for. So where none of these reaches up to
//! the operation, but a stream was made to wait since the operation before it was issued, and
//! something else ended right before it, that is taken. The parts follow each other without a gap,
//! so they sum up to the makespan.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::observed::{Called, NO_STEP, Observed};
use crate::program::StreamId;
use crate::timeline::{HostSpan, Interval, Span, SpanKind};

/// How long the device takes from the end of one operation to the start of one that waited for it,
/// in ns. Back-to-back kernels of one stream are 1 µs apart on an H200 and copies 2 µs (traces of
/// 2026-11-21, driver 580.159); twice that leaves room for slower devices. Single gaps are longer,
/// so a longer one alone does not show that an operation waited for another stream.
const TURNAROUND_NS: u64 = 4_000;

/// Kinds of parts of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// An operation of the device runs.
    Work(SpanKind),
    /// An operation has been issued and does not yet run, though nothing is known that it waits
    /// for.
    Launch,
    /// An operation waits after what it waited for has ended.
    Turnaround,
    /// The host has not yet asked.
    Host,
}

/// A part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its kind.
    pub part: Part,
    /// When.
    pub time: Interval,
    /// For [`Part::Work`]: the operation, as an index into the timeline's spans.
    pub span: Option<u32>,
}

/// The parts of a kind together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// Their kind.
    pub part: Part,
    /// How many there are.
    pub parts: u64,
    /// How long they are together, in ns.
    pub ns: u64,
}

/// The critical path of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Its parts, in order of time; each begins where the one before it ends.
    pub segments: Vec<Segment>,
}

impl Path {
    /// The parts by kind, the longest first.
    pub fn sums(&self) -> Vec<Sum> {
        let mut sums: BTreeMap<Part, Sum> = BTreeMap::new();
        for &Segment { part, time, .. } in &self.segments {
            let sum = sums.entry(part).or_insert(Sum { part, parts: 0, ns: 0 });
            sum.parts += 1;
            sum.ns += time.ns();
        }
        let mut sums: Vec<Sum> = sums.into_values().collect();
        sums.sort_by_key(|sum| std::cmp::Reverse(sum.ns));
        sums
    }
}

/// The critical path of a run, over its extent. Empty where nothing ran.
pub fn path(observed: &Observed<'_>) -> Path {
    let spans = &observed.timeline.spans;
    let mut walk = Walk::new(observed);
    let end_ns = walk.extent.end_ns;
    let inside = (0..spans.len()).filter(|&index| spans[index].start_ns < end_ns);
    let last = inside.max_by_key(|&index| (spans[index].end_ns.min(end_ns), index));
    let Some(last) = last else { return Path::default() };
    walk.back_to(spans[last].end_ns, Part::Host, None);
    let mut next = Some(last);
    while let Some(index) = next.filter(|_| walk.at > walk.extent.start_ns) {
        next = walk.before(index);
    }
    walk.back_to(walk.extent.start_ns, Part::Host, None);
    walk.segments.reverse();
    Path { segments: walk.segments }
}

struct Walk<'o, 'a> {
    observed: &'o Observed<'a>,
    extent: Interval,
    /// Everything from here on is on the path already.
    at: u64,
    segments: Vec<Segment>,
    /// For each span, the one before it in its stream, and one that an event made it wait for.
    in_stream: Vec<Option<usize>>,
    awaited: BTreeMap<usize, usize>,
    /// Spans in the order of their ends: of each kind, and all.
    by_end: BTreeMap<Option<SpanKind>, Vec<usize>>,
    /// Calls by step, and those that blocked the host, by thread and in the order of their ends.
    calls: Vec<Option<&'o HostSpan>>,
    held: BTreeMap<u32, Vec<&'o HostSpan>>,
    /// The calls that made a stream wait for an event, by step.
    waiting: Vec<u32>,
}

impl<'o, 'a> Walk<'o, 'a> {
    fn new(observed: &'o Observed<'a>) -> Self {
        let (spans, host) = (&observed.timeline.spans, &observed.timeline.host);
        let extent = observed.timeline.extent();
        let mut streams: BTreeMap<StreamId, Vec<usize>> = BTreeMap::new();
        let mut by_end: BTreeMap<Option<SpanKind>, Vec<usize>> = BTreeMap::new();
        let mut in_stream = vec![None; spans.len()];
        for (index, span) in spans.iter().enumerate() {
            let stream = streams.entry(span.stream).or_default();
            in_stream[index] = stream.last().copied();
            stream.push(index);
            by_end.entry(None).or_default().push(index);
            by_end.entry(Some(span.kind)).or_default().push(index);
        }
        by_end
            .values_mut()
            .for_each(|list| list.sort_by_key(|&index| (spans[index].end_ns, index)));

        let mut calls = vec![None; observed.calls.len().max(host.len())];
        let mut held: BTreeMap<u32, Vec<&HostSpan>> = BTreeMap::new();
        for call in host {
            if let Some(place) = calls.get_mut(call.step as usize) {
                *place = Some(call);
            }
            if call.blocked_ns > 0 {
                let thread = observed.call(call.step).map_or(0, |call| call.thread);
                held.entry(thread).or_default().push(call);
            }
        }
        held.values_mut().for_each(|calls| calls.sort_by_key(|call| (call.end_ns, call.step)));

        let waits = |&(_, call): &(u32, &Called<'_>)| call.name.contains("StreamWaitEvent");
        let waiting = (0..).zip(&observed.calls).filter(waits).map(|(step, _)| step).collect();

        // Steps number calls in the order in which they were made, which is the order of a stream.
        for list in streams.values_mut() {
            list.sort_by_key(|&index| (spans[index].step, index));
        }
        let of = |stream| streams.get(stream).map_or(&[][..], Vec::as_slice);
        let mut awaited = BTreeMap::new();
        for wait in &observed.waits {
            let (source, target) = (of(&wait.source), of(&wait.stream));
            let from = source.partition_point(|&index| spans[index].step < wait.record);
            let to = target.partition_point(|&index| spans[index].step <= wait.step);
            if let (Some(&from), Some(&to)) =
                (from.checked_sub(1).and_then(|from| source.get(from)), target.get(to))
            {
                let known = awaited.entry(to).or_insert(from);
                if spans[*known].end_ns < spans[from].end_ns {
                    *known = from;
                }
            }
        }
        Self {
            observed,
            extent,
            at: extent.end_ns,
            segments: Vec::new(),
            in_stream,
            awaited,
            by_end,
            calls,
            held,
            waiting,
        }
    }

    fn span(&self, index: usize) -> &'o Span {
        &self.observed.timeline.spans[index]
    }

    /// Adds a part that reaches back to an instant, where it is not on the path already.
    fn back_to(&mut self, start_ns: u64, part: Part, span: Option<usize>) {
        let start_ns = start_ns.clamp(self.extent.start_ns, self.at);
        if start_ns < self.at {
            let time = Interval::new(start_ns, self.at);
            let span = span.and_then(|index| u32::try_from(index).ok());
            self.segments.push(Segment { part, time, span });
            self.at = start_ns;
        }
    }

    /// Puts an operation on the path, and what lies between it and the one that it came after,
    /// which is the answer. Its index is smaller, so the walk comes to an end.
    fn before(&mut self, index: usize) -> Option<usize> {
        let span = self.span(index);
        self.back_to(span.start_ns, Part::Work(span.kind), Some(index));
        let known = [
            self.in_stream[index],
            self.awaited.get(&index).copied(),
            self.ended_before(span.start_ns, Some(span.kind), index),
        ];
        let earlier = known.into_iter().flatten().filter(|&known| known < index);
        let mut earlier = earlier.max_by_key(|&known| (self.end_of(known, span), known));
        let asked = self.calls.get(span.step as usize).copied().flatten();
        let reached = earlier.map_or(0, |earlier| self.end_of(earlier, span));
        if let Some(call) = asked.filter(|call| call.start_ns >= reached) {
            self.back_to(call.start_ns, Part::Launch, None);
            return self.before_call(call, index);
        }
        // A copy of pageable memory begins when the host has filled the staging buffer.
        let staged = |call: &HostSpan| call.blocked_ns > 0 && call.end_ns >= span.start_ns;
        if let (Some(earlier), true) = (earlier, asked.is_some_and(staged)) {
            self.back_to(self.span(earlier).end_ns, Part::Host, None);
            return Some(earlier);
        }
        if span.start_ns - reached > TURNAROUND_NS && self.may_have_waited(index) {
            let other = self.ended_before(span.start_ns, None, index);
            let close = |other: &usize| span.start_ns - self.span(*other).end_ns <= TURNAROUND_NS;
            earlier = other.filter(close).or(earlier);
        }
        let earlier = earlier?;
        self.back_to(self.span(earlier).end_ns, Part::Turnaround, None);
        Some(earlier)
    }

    /// Whether a stream can have been made to wait for another since the operation before this one
    /// in its stream was issued.
    fn may_have_waited(&self, index: usize) -> bool {
        let step = self.span(index).step;
        let before = self.in_stream[index].map_or(0, |before| self.span(before).step);
        if step == NO_STEP || before == NO_STEP {
            return true;
        }
        let from = self.waiting.partition_point(|&wait| wait < before);
        self.waiting.get(from).is_some_and(|&wait| wait < step)
    }

    /// When `earlier` ended, as far as it can have delayed `span`: some overlap, where the one
    /// launched the other early or where times are rounded.
    fn end_of(&self, earlier: usize, span: &Span) -> u64 {
        self.span(earlier).end_ns.min(span.start_ns)
    }

    /// The operation that ended last before an instant, among those before `index`.
    fn ended_before(&self, ns: u64, kind: Option<SpanKind>, index: usize) -> Option<usize> {
        let list = self.by_end.get(&kind)?;
        let end = list.partition_point(|&other| self.span(other).end_ns <= ns);
        list[..end].iter().rev().copied().find(|&other| other < index)
    }

    /// Goes back from a call to the work that its thread had waited for before, among the
    /// operations before `index`.
    fn before_call(&mut self, call: &HostSpan, index: usize) -> Option<usize> {
        let thread = self.observed.call(call.step).map_or(0, |call| call.thread);
        let held = self.held.get(&thread)?;
        let earlier = held.partition_point(|held| held.end_ns <= call.start_ns);
        for held in held[..earlier].iter().rev() {
            if held.end_ns <= self.extent.start_ns {
                break;
            }
            let own = self.by_step(held.step, index);
            let waited = own.or_else(|| self.ended_before(held.end_ns, None, index));
            if let Some(waited) = waited.filter(|&w| self.span(w).end_ns > held.start_ns) {
                let end = self.span(waited).end_ns;
                self.back_to(end, Part::Host, None);
                return Some(waited);
            }
        }
        None
    }

    /// The operation that a call issued, if it had ended when the call returned.
    fn by_step(&self, step: u32, index: usize) -> Option<usize> {
        let held = self.calls.get(step as usize).copied().flatten()?;
        let list = self.by_end.get(&None)?;
        let end = list.partition_point(|&other| self.span(other).end_ns <= held.end_ns);
        let recent = list[..end].iter().rev();
        let recent = recent.take_while(|&&other| self.span(other).end_ns > held.start_ns);
        recent.copied().find(|&other| self.span(other).step == step && other < index)
    }
}
