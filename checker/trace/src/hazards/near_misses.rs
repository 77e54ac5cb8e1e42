//! Near misses: the synchronisation that comes close to ordering two uses, and what it lacks.
//!
//! The author of a race has most often written something against it. The report says why that does
//! not do, at its own line, so that this line is changed and no other is added beside it.
//!
//! Only calls with a line of their own count. Those that a library makes on the way are at the line
//! of the operation or of the allocation that it makes them for. A call that something else needs
//! as it is, such as a wait for the data of another stream, is left alone. Only a change
//! counts that puts the two uses in order, and leaves in order whatever was.

mod repair;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::{Discriminant, discriminant};

use crate::program::{Call, EventId, Program, StreamId};

use super::model::{CallAt, Edge, NearMiss, Slip, Waiter};
use super::uses::stream;
use repair::Unordered;

/// The most candidates for a slip that are tried, for each hazard: the nearest comes first, and
/// each costs a search of the whole program.
const MOST_TRIED: usize = 4;

/// A wait for an event.
struct Wait {
    step: u32,
    waiter: Waiter,
    event: EventId,
    /// The record that it is for, and its stream.
    recorded: Option<(u32, StreamId)>,
}

/// Two uses in the order of the calls, with the streams that they are queued in.
#[derive(Clone, Copy)]
struct Uses {
    first: u32,
    second: u32,
    stream: StreamId,
    waiter: Waiter,
}

/// A kind of call at a place in the source.
type Place = (u32, Discriminant<Call>);

/// Attempts of a program to order its work, by what each call concerns.
pub(super) struct Attempts<'a> {
    program: &'a Program,
    /// The operations of each stream.
    operations: HashMap<StreamId, Vec<u32>>,
    /// The steps of each kind of call at each place in the source.
    places: HashMap<Place, Vec<u32>>,
    /// The streams that they queue something in.
    streams: HashMap<Place, BTreeSet<StreamId>>,
    /// Records of events, in each stream.
    records: HashMap<StreamId, Vec<(u32, EventId)>>,
    /// Waits for events that have lines of their own.
    waits: Vec<Wait>,
    /// Calls with lines of their own in which the host waits for a stream, or for all.
    host: Vec<(u32, Option<StreamId>)>,
    /// Events that are there to take the time.
    stopwatches: HashSet<EventId>,
    /// Events that are made at no line of the program's own.
    of_nobody: HashSet<EventId>,
    /// Places at which operations are issued and memory is allocated: there, libraries make events
    /// and use them.
    taken: HashSet<u32>,
    /// Uses that nothing orders as the program stands.
    unordered: OnceCell<Option<Unordered>>,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let mut it = Self {
            program,
            operations: HashMap::new(),
            places: HashMap::new(),
            streams: HashMap::new(),
            records: HashMap::new(),
            waits: Vec::new(),
            host: Vec::new(),
            stopwatches: HashSet::new(),
            of_nobody: HashSet::new(),
            taken: HashSet::new(),
            unordered: OnceCell::new(),
        };
        let steps = || (0u32..).zip(&program.steps).filter(|(_, step)| step.result == 0);
        for (_, step) in steps() {
            let works = stream_of(&step.call).is_some()
                || matches!(step.call, Call::Alloc { .. } | Call::AllocHost { .. });
            it.taken.extend(step.site.filter(|_| works));
        }
        let mut of_library: HashSet<EventId> = HashSet::new();
        let mut recorded: HashMap<EventId, (u32, StreamId)> = HashMap::new();
        for (index, step) in steps() {
            if let Some(site) = step.site {
                let place = (site, discriminant(&step.call));
                it.places.entry(place).or_default().push(index);
                if let Some(stream) = stream(&step.call) {
                    it.streams.entry(place).or_default().insert(stream);
                }
            }
            if let Some(stream) = stream_of(&step.call) {
                it.operations.entry(stream).or_default().push(index);
            }
            match &step.call {
                Call::EventCreate { event, .. } if step.site.is_none() => {
                    it.of_nobody.insert(*event);
                }
                Call::EventCreate { event, .. } if !it.is_own(index) => {
                    of_library.insert(*event);
                }
                Call::EventDestroy { event } => {
                    recorded.remove(event);
                }
                Call::EventElapsed { start, end } => it.stopwatches.extend([*start, *end]),
                Call::EventRecord { event, stream } => {
                    recorded.insert(*event, (index, *stream));
                    it.records.entry(*stream).or_default().push((index, *event));
                }
                Call::StreamWait { stream, event }
                    if it.is_own(index) && !of_library.contains(event) =>
                {
                    let (waiter, recorded) =
                        (Waiter::Stream(*stream), recorded.get(event).copied());
                    it.waits.push(Wait { step: index, waiter, event: *event, recorded });
                }
                Call::EventSynchronize { event }
                    if it.is_own(index) && !of_library.contains(event) =>
                {
                    let recorded = recorded.get(event).copied();
                    let waiter = Waiter::Host;
                    it.waits.push(Wait { step: index, waiter, event: *event, recorded });
                }
                Call::StreamSynchronize { stream } if it.is_own(index) => {
                    it.host.push((index, Some(*stream)));
                }
                Call::ContextSynchronize if it.is_own(index) => it.host.push((index, None)),
                // The lab waits for the device before that, at the line that opens the region.
                Call::RegionBegin => it.host.clear(),
                _ => {}
            }
        }
        it
    }

    /// The near miss that comes closest to the missing edge.
    pub(super) fn nearest(&self, missing: &Edge, call: impl Fn(u32) -> CallAt) -> Option<NearMiss> {
        let uses = match *missing {
            Edge::Wait { record_after, record_in, wait_before, wait_in } => Uses {
                first: record_after,
                second: wait_before,
                stream: record_in,
                waiter: Waiter::Stream(wait_in),
            },
            Edge::Synchronise { stream, after, before } => {
                Uses { first: after, second: before, stream, waiter: Waiter::Host }
            }
            Edge::Handover { .. } | Edge::FreeLater { .. } => return None,
        };
        // What is inside a graph has no calls of its own; each thread has its own per-thread
        // stream.
        let is_graph = |step: u32| matches!(self.step(step), Call::GraphLaunch { .. });
        let waits = matches!(uses.waiter, Waiter::Stream(stream) if stream.is_per_thread());
        let is_of_a_thread = uses.stream.is_per_thread() || waits;
        if is_graph(uses.first) || is_graph(uses.second) || is_of_a_thread {
            return None;
        }
        let close = self
            .waits_for_less(uses, &call)
            .chain(self.waits_too_late(uses, &call))
            .chain(self.does_not_wait(uses, &call))
            .chain(self.host_waits_for_another(uses, &call))
            .chain(self.host_waits_too_early(uses, &call))
            .chain(self.by_turns(uses));
        let slip = close.take(MOST_TRIED).find(|slip| self.is_put_right(uses, slip))?;
        Some(NearMiss { waiter: uses.waiter, slip })
    }

    /// Between the two uses the waiter waits for an event, which does not stand for the first use.
    fn waits_for_less(
        &self,
        uses: Uses,
        call: impl Fn(u32) -> CallAt,
    ) -> impl Iterator<Item = Slip> {
        let from = self.waits.partition_point(|wait| wait.step <= uses.first);
        let to = self.waits.partition_point(|wait| wait.step < uses.second);
        let between = self.waits[from..to].iter().rev();
        between.filter(move |wait| wait.waiter == uses.waiter).filter_map(move |wait| {
            let at = call(wait.step);
            match wait.recorded {
                None => {
                    let records = self.records.get(&uses.stream).into_iter().flatten();
                    let later = records
                        .map(|&(step, event)| (step, event))
                        .find(|(step, event)| *event == wait.event && *step > wait.step);
                    // One that is neither made nor recorded by the program is none of its own.
                    if later.is_none() && self.of_nobody.contains(&wait.event) {
                        return None;
                    }
                    let later = later.map(|(step, _)| call(step));
                    Some(match self.recorded_for(uses, wait.step) {
                        Some(record) => Slip::WaitsForAnotherEvent {
                            wait: at,
                            stale: later,
                            record: call(record),
                        },
                        None => Slip::NotRecorded { wait: at, record: later },
                    })
                }
                Some((record, stream)) if stream == uses.stream && record < uses.first => {
                    Some(self.stale(uses, wait, record, call(record), at, &call))
                }
                Some((record, stream)) if stream != uses.stream => {
                    Some(Slip::RecordedElsewhere { record: call(record), stream, wait: at })
                }
                Some(_) => None,
            }
        })
    }

    /// The event was recorded in the right stream before the first use was queued.
    fn stale(
        &self,
        uses: Uses,
        wait: &Wait,
        record: u32,
        recorded: CallAt,
        at: CallAt,
        call: impl Fn(u32) -> CallAt,
    ) -> Slip {
        let right = self.recorded_for(uses, wait.step);
        let [records_run, uses_run] = [record, uses.first].map(|step| self.runs(step).len() as u32);
        // Does the record's line come after the line of the first use, as it should?
        let follows = self.before(record, uses.first);
        match right {
            Some(step) if follows || !self.same_place(step, record) => {
                Slip::WaitsForAnotherEvent { wait: at, stale: Some(recorded), record: call(step) }
            }
            _ if follows && records_run < uses_run => Slip::NotRecordedAgain {
                record: recorded,
                wait: at,
                records: records_run,
                uses: uses_run,
            },
            _ => Slip::RecordedTooEarly { record: recorded, wait: at },
        }
    }

    /// The first record before `wait` of an event that stands for the first use.
    fn recorded_for(&self, uses: Uses, wait: u32) -> Option<u32> {
        let records = self.records.get(&uses.stream)?;
        let from = records.partition_point(|(step, _)| *step < uses.first);
        let mut after = records[from..].iter().map(|(step, _)| *step);
        after.find(|step| *step < wait && self.stands_for(*step, uses))
    }

    /// Whether an operation of the same line as `first` was the last that the event stands for.
    fn before(&self, record: u32, first: u32) -> bool {
        let runs = self.runs(first);
        let earlier = runs[..runs.partition_point(|step| *step < record)].last();
        let last = stream_of(self.step(first)).and_then(|stream| self.last_before(stream, record));
        earlier.is_some() && earlier.copied() == last
    }

    /// After the second use the waiter waits for what stands for the first, in the same turn of a
    /// loop.
    fn waits_too_late(&self, uses: Uses, call: impl Fn(u32) -> CallAt) -> Option<Slip> {
        let end = self.next_run(uses.second);
        let from = self.waits.partition_point(|wait| wait.step <= uses.second);
        let to = self.waits.partition_point(|wait| wait.step < end);
        let late = self.waits[from..to].iter().find_map(|wait| match wait.recorded {
            Some((record, stream))
                if wait.waiter == uses.waiter
                    && stream == uses.stream
                    && record > uses.first
                    && self.stands_for(record, uses) =>
            {
                Some((wait.step, Some(record).filter(|&record| record < uses.second)))
            }
            _ => None,
        });
        let late = late.or_else(|| {
            // The host itself may wait for the stream, or for all.
            let from = self.host.partition_point(|(step, _)| *step <= uses.second);
            let mut after = self.host[from..].iter().take_while(|(step, _)| *step < end);
            let is_it = |it: &Option<StreamId>| it.is_none_or(|stream| stream == uses.stream);
            let found = after.find(|(_, stream)| is_it(stream));
            found.filter(|_| uses.waiter == Waiter::Host).map(|(step, _)| (*step, None))
        });
        let (wait, record) = late?;
        Some(Slip::WaitsTooLate { record: record.map(&call), wait: call(wait) })
    }

    /// An event stands for the first use, and is recorded before the second; the waiter does not
    /// wait for it, though others may.
    fn does_not_wait(&self, uses: Uses, call: impl Fn(u32) -> CallAt) -> Vec<Slip> {
        let records = self.records.get(&uses.stream).map_or(&[][..], Vec::as_slice);
        let from = records.partition_point(|(step, _)| *step < uses.first);
        let mut before = records[from..].iter().take_while(|(step, _)| *step < uses.second);
        let Some(&(record, _)) = before.find(|(step, event)| {
            self.is_own(*step) && self.stands_for(*step, uses) && !self.stopwatches.contains(event)
        }) else {
            return Vec::new();
        };
        let from = self.waits.partition_point(|wait| wait.step <= record);
        let others = self.waits[from..]
            .iter()
            .filter(|wait| wait.recorded == Some((record, uses.stream)))
            .filter_map(|wait| match wait.waiter {
                Waiter::Stream(stream) => Some((wait.step, stream)),
                Waiter::Host => None,
            });
        let others: Vec<(u32, StreamId)> = others.collect();
        let nobody = Slip::NobodyWaits {
            record: call(record),
            wait: others.first().map(|(wait, _)| call(*wait)),
        };
        let another =
            others.iter().filter(|_| uses.waiter != Waiter::Host).map(|&(wait, stream)| {
                Slip::AnotherWaits { wait: call(wait), stream, record: call(record) }
            });
        another.chain([nobody]).collect()
    }

    /// Between the two uses the host waits for a stream that the first one is not in.
    fn host_waits_for_another(&self, uses: Uses, call: impl Fn(u32) -> CallAt) -> Option<Slip> {
        let from = self.host.partition_point(|(step, _)| *step <= uses.first);
        let to = self.host.partition_point(|(step, _)| *step < uses.second);
        self.host[from..to].iter().rev().find_map(|&(wait, stream)| {
            let stream = stream.filter(|stream| *stream != uses.stream)?;
            // To block the host is a poor way to order two streams. So it is taken for one only
            // where there is nothing else to wait for: the stream has got nothing since the host
            // last did.
            let before = self.host[..self.host.partition_point(|(step, _)| *step < wait)].iter();
            let mut before = before.rev().filter(|(_, of)| of.is_none_or(|of| of == stream));
            let since = before.next().map_or(0, |(step, _)| *step);
            let idle = self.last_before(stream, wait).is_none_or(|last| last < since);
            let wait = call(wait);
            (idle || uses.waiter == Waiter::Host)
                .then_some(Slip::HostWaitsForAnother { wait, stream })
        })
    }

    /// Right before the first use was queued the host waited for its stream, in which there was
    /// nothing.
    fn host_waits_too_early(&self, uses: Uses, call: impl Fn(u32) -> CallAt) -> Option<Slip> {
        if uses.waiter != Waiter::Host {
            return None;
        }
        let to = self.host.partition_point(|(step, _)| *step < uses.first);
        let (wait, stream) = *self.host[..to].last()?;
        let start = self.runs(uses.first).iter().rev().find(|step| **step < uses.first);
        let is_it = stream.is_none_or(|stream| stream == uses.stream);
        let between = self.last_before(uses.stream, uses.first).is_some_and(|last| last > wait);
        let in_turn = start.is_none_or(|start| *start < wait);
        (is_it && in_turn && !between).then(|| Slip::HostWaitsTooEarly { wait: call(wait) })
    }

    /// Both lines take several streams in turn, some of them the same.
    fn by_turns(&self, uses: Uses) -> Option<Slip> {
        let streams = |step: u32| self.place(step).and_then(|place| self.streams.get(&place));
        let (first, second) = (streams(uses.first)?, streams(uses.second)?);
        let shared = first.intersection(second).next().is_some();
        (shared && first.len().max(second.len()) > 1)
            .then_some(Slip::ByTurns { first: first.len() as u32, second: second.len() as u32 })
    }

    /// Whether the call is made by the line itself, and not by a library on the way.
    fn is_own(&self, step: u32) -> bool {
        let site = self.program.steps[step as usize].site;
        site.is_some_and(|site| !self.taken.contains(&site))
    }

    fn step(&self, step: u32) -> &'a Call {
        &self.program.steps[step as usize].call
    }

    fn place(&self, step: u32) -> Option<Place> {
        let site = self.program.steps[step as usize].site;
        site.map(|site| (site, discriminant(self.step(step))))
    }

    /// The steps of the same kind of call at the same place in the source, with this one.
    fn runs(&self, step: u32) -> &[u32] {
        self.place(step).and_then(|place| self.places.get(&place)).map_or(&[], Vec::as_slice)
    }

    /// How many turns of a loop `second` is later than `first`; 0 in the same turn, or where there
    /// is none.
    pub(super) fn laps(&self, first: u32, second: u32) -> u32 {
        let (firsts, seconds) = (self.runs(first), self.runs(second));
        let before = |runs: &[u32], step: u32| runs.partition_point(|run| *run < step);
        let is_one = self.place(first).is_some() && self.place(first) == self.place(second);
        // Does the line of the second use come first in the loop? Then each of its runs begins a
        // turn.
        let until = match is_one || before(seconds, first) > before(firsts, first) {
            true => second + 1,
            // Else a turn is over when it is run and the line of the first use is run again.
            false => firsts[..before(firsts, second)].last().copied().unwrap_or(first),
        };
        before(seconds, until).saturating_sub(before(seconds, first + 1)) as u32
    }

    fn next_run(&self, step: u32) -> u32 {
        let runs = self.runs(step);
        runs.get(runs.partition_point(|run| *run <= step)).copied().unwrap_or(u32::MAX)
    }

    /// Whether both are made at one line, as far as their lines are known.
    fn same_place(&self, one: u32, other: u32) -> bool {
        let site = |step: u32| self.program.steps[step as usize].site;
        site(one).is_some() && site(one) == site(other)
    }

    fn last_before(&self, stream: StreamId, step: u32) -> Option<u32> {
        let operations = self.operations.get(&stream)?;
        operations[..operations.partition_point(|it| *it < step)].last().copied()
    }

    /// The wait of a program's own that is made in a step.
    fn wait_at(&self, step: u32) -> Option<&Wait> {
        let found = self.waits.binary_search_by_key(&step, |wait| wait.step);
        found.ok().map(|index| &self.waits[index])
    }

    /// Whether an event that is recorded at `record` is meant for the first use: it stands for it,
    /// and for nothing of another line after it.
    fn stands_for(&self, record: u32, uses: Uses) -> bool {
        let last = self.last_before(uses.stream, record);
        last.is_some_and(|last| {
            last == uses.first || last > uses.first && self.same_place(last, uses.first)
        })
    }
}

/// The stream that a step gives work to.
fn stream_of(call: &Call) -> Option<StreamId> {
    match call {
        Call::GraphLaunch { stream, .. } => Some(*stream),
        call => stream(call),
    }
}
