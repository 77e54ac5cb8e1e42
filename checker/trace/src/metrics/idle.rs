//! Why the device had nothing to do.
//!
//! Each gap is put down to what its end tells. The operation that ends it had been issued before
//! the gap, and so waited for something, or was issued later, and so the host was late.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::metrics::Coverage;
use crate::observed::Observed;
use crate::timeline::{HostSpan, Interval};

/// Why nothing ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The next operation had not been issued.
    Host,
    /// It had been, and waited: for an event, for its turn, for the device to begin with it.
    Dependency,
    /// There was no next operation.
    EmptyQueue,
    /// The call that issued it is not known.
    Unknown,
}

/// Gaps of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// Their cause.
    pub cause: Cause,
    /// How many there are.
    pub gaps: u64,
    /// How long they are together, in ns.
    pub ns: u64,
    /// The longest.
    pub longest: Interval,
}

/// Activity of the host while the device waited for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doing<'a> {
    /// The call it was in; none for what it did between calls.
    pub call: Option<&'a str>,
    /// From where, as far as it is known.
    pub line: Option<&'a str>,
    /// How long, in ns.
    pub ns: u64,
}

/// All time in which nothing ran on the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Idle<'a> {
    /// The gaps, by cause.
    pub causes: Vec<Gaps>,
    /// For [`Cause::Host`]: what the thread did that was late, from the start of each gap until the
    /// call that asked returned, the longest first.
    pub host: Vec<Doing<'a>>,
}

/// The gaps of a run, over its extent.
pub fn idle<'a>(observed: &Observed<'a>) -> Idle<'a> {
    let timeline = &observed.timeline;
    let extent = timeline.extent();
    let on_device = || timeline.spans.iter().filter(|span| span.kind.is_on_device());
    let busy = Coverage::of(on_device().map(|span| span.interval().clip(extent)));
    let asked = Asked::of(observed);

    let mut causes: BTreeMap<Cause, Gaps> = BTreeMap::new();
    let mut doing: BTreeMap<_, u64> = BTreeMap::new();
    let mut next = on_device().peekable();
    for gap in busy.gaps(extent) {
        while next.next_if(|span| span.start_ns < gap.end_ns).is_some() {}
        let call = next.peek().map(|span| asked.of_step(span.step));
        let cause = match call {
            None => Cause::EmptyQueue,
            Some(None) => Cause::Unknown,
            Some(Some(call)) if call.start_ns > gap.start_ns => Cause::Host,
            Some(Some(_)) => Cause::Dependency,
        };
        let gaps = causes.entry(cause).or_insert(Gaps { cause, gaps: 0, ns: 0, longest: gap });
        gaps.gaps += 1;
        gaps.ns += gap.ns();
        if gap.ns() > gaps.longest.ns() {
            gaps.longest = gap;
        }
        if let (Cause::Host, Some(Some(call))) = (cause, call) {
            asked.doing(call, gap, &mut doing);
        }
    }
    let mut host: Vec<Doing<'a>> =
        doing.into_iter().map(|((call, line), ns)| Doing { call, line, ns }).collect();
    host.sort_by_key(|doing| std::cmp::Reverse(doing.ns));
    Idle { causes: causes.into_values().collect(), host }
}

/// The calls of the host, to be found by step and by thread.
struct Asked<'o, 'a> {
    observed: &'o Observed<'a>,
    by_step: Vec<Option<&'o HostSpan>>,
    /// Of each thread, in order of their start.
    by_thread: BTreeMap<u32, Vec<&'o HostSpan>>,
}

impl<'o, 'a> Asked<'o, 'a> {
    fn of(observed: &'o Observed<'a>) -> Self {
        let host = &observed.timeline.host;
        let most = host.iter().map(|span| span.step as usize + 1).max().unwrap_or(0);
        // A step is an index into a list that someone has; a larger one is no step.
        let mut by_step = vec![None; most.min(observed.calls.len().max(host.len()))];
        let mut by_thread: BTreeMap<u32, Vec<&HostSpan>> = BTreeMap::new();
        for span in host {
            if let Some(place) = by_step.get_mut(span.step as usize) {
                *place = Some(span);
            }
            let thread = observed.call(span.step).map_or(0, |call| call.thread);
            by_thread.entry(thread).or_default().push(span);
        }
        by_thread.values_mut().for_each(|calls| calls.sort_by_key(|call| call.start_ns));
        Self { observed, by_step, by_thread }
    }

    fn of_step(&self, step: u32) -> Option<&'o HostSpan> {
        *self.by_step.get(step as usize)?
    }

    /// Adds up what the thread of `call` did in `gap` until that call returned.
    fn doing(
        &self,
        call: &HostSpan,
        gap: Interval,
        sums: &mut BTreeMap<(Option<&'a str>, Option<&'a str>), u64>,
    ) {
        let late = Interval::new(gap.start_ns, call.end_ns.min(gap.end_ns));
        let thread = self.observed.call(call.step).map_or(0, |call| call.thread);
        let calls = self.by_thread.get(&thread).map_or(&[][..], Vec::as_slice);
        let first = calls.partition_point(|call| call.start_ns < late.start_ns);
        let mut between = late.ns();
        for other in &calls[first.saturating_sub(1)..] {
            if other.start_ns >= late.end_ns {
                break;
            }
            let ns = Interval::new(other.start_ns, other.end_ns).clip(late).ns().min(between);
            if ns > 0 {
                between -= ns;
                let what = self.observed.call(other.step);
                let key = (what.map(|call| call.name), what.and_then(|call| call.line));
                *sums.entry(key).or_default() += ns;
            }
        }
        if between > 0 {
            *sums.entry((None, None)).or_default() += between;
        }
    }
}
