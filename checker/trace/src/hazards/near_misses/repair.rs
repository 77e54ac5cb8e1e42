//! Programs with a slip put right as its help says, searched again.
//!
//! A synchronisation that is no good to one pair of uses may be what another needs. One rule finds
//! that out for all slips: the change is made wherever the line is run, the program is gone through
//! again, and whatever was in order before has to be so still.

use std::collections::{BTreeMap, HashSet};

use crate::program::{Call, EventId, Mode, Program, Step, StreamId};

use super::super::search::{At, Search, Trust};
use super::{Attempts, Slip, Uses, Waiter, stream_of};

/// Stands for a host that has just been told something, in the place of a node.
const HOST: u32 = u32::MAX;

/// Steps that are taken out of a program, and steps that are put in.
#[derive(Debug, Default)]
pub(super) struct Change {
    out: HashSet<u32>,
    /// By the step that they come before.
    new: BTreeMap<u32, Vec<Step>>,
}

/// Uses that may go on, and blocks, that are looked at where the host is told something, all
/// together: a second's work at most for all that is tried, and 50 MB.
const MOST_LOOKED_AT: usize = 500_000;

/// Pairs that nothing orders, by both uses; or a use that may still go on, and a step in which the
/// host was told something.
pub(super) type Unordered = HashSet<(At, At)>;

impl Change {
    /// A call like that of the step `model`, by the same thread.
    fn put_in(&mut self, program: &Program, before: u32, model: u32, call: Call) {
        let step = Step { call, ..program.steps[model as usize].clone() };
        self.new.entry(before).or_default().push(step);
    }

    fn put_out(&mut self, program: &Program, step: u32, call: Call) {
        if self.out.insert(step) {
            self.put_in(program, step, step, call);
        }
    }

    fn carry(&mut self, program: &Program, step: u32, before: u32) {
        if self.out.insert(step) {
            self.put_in(program, before, step, program.steps[step as usize].call.clone());
        }
    }

    /// Finds the pairs that nothing orders in `program` with the change made.
    ///
    /// The host's own uses of pinned memory are in a program only where they were not known to be
    /// in order. So what the host may use without being seen counts too: all such memory that it
    /// knew to be at rest when it was told something. When a region ends, all memory is to be at
    /// rest.
    ///
    /// None where that is too much to look at.
    pub(super) fn unordered<'a>(&'a self, program: &'a Program) -> Option<Unordered> {
        let mut search = Search::new(Trust::Documented);
        let mut unordered = HashSet::new();
        let mut looked_at = 0;
        for (index, step) in (0u32..).zip(&program.steps) {
            for new in self.new.get(&index).into_iter().flatten() {
                search.make(index, new);
            }
            if !self.out.contains(&index) {
                search.make(index, step);
            }
            let is_end = step.call == Call::RegionEnd;
            if is_end || is_told(&step.call) {
                let told = At { step: index, node: HOST };
                let before = unordered.len();
                let mut uses = 0;
                let going_on = search.going_on(step.thread, is_end).inspect(|_| uses += 1);
                unordered.extend(going_on.map(|it| (it, told)));
                looked_at += uses + unordered.len() - before + search.blocks();
                if looked_at > MOST_LOOKED_AT {
                    return None;
                }
            }
        }
        unordered.extend(search.pairs.iter().map(|pair| (pair.first, pair.second)));
        Some(unordered)
    }
}

/// Whether the host learns from the call that something on the device is over.
fn is_told(call: &Call) -> bool {
    matches!(
        call,
        Call::ContextSynchronize
            | Call::StreamSynchronize { .. }
            | Call::StreamQuery { .. }
            | Call::EventSynchronize { .. }
            | Call::EventQuery { .. }
            | Call::EventElapsed { .. }
            | Call::Copy { mode: Mode::Synchronous, .. }
    )
}

/// The last run before a step.
fn last(runs: &[u32], before: u32) -> Option<u32> {
    runs[..runs.partition_point(|run| *run < before)].last().copied()
}

/// The first run after a step.
fn next(runs: &[u32], after: u32) -> Option<u32> {
    runs.get(runs.partition_point(|run| *run <= after)).copied()
}

impl Attempts<'_> {
    /// Whether the change that the help of a slip names puts the two uses in order, wherever their
    /// lines are run, and leaves in order what was.
    pub(super) fn is_put_right(&self, uses: Uses, slip: &Slip) -> bool {
        let Some(change) = self.change(uses, slip) else { return true };
        // A wait for what was queued for another place in memory is right as it is, and no place to
        // put in one for this.
        if let Slip::WaitsForAnotherEvent { wait, stale, record } = slip
            && stale.as_ref().is_some_and(|stale| stale.site == record.site)
            && self.is_needed(wait.step)
        {
            return false;
        }
        let before = self.unordered.get_or_init(|| Change::default().unordered(self.program));
        let (Some(before), Some(left)) = (before, change.unordered(self.program)) else {
            return false;
        };
        let is = |at: At, step: u32| at.step == step || self.same_place(at.step, step);
        left.is_subset(before)
            && !left
                .iter()
                .any(|(first, second)| is(*first, uses.first) && is(*second, uses.second))
    }

    /// Whether something is not in order without a wait.
    fn is_needed(&self, wait: u32) -> bool {
        let without = Change { out: HashSet::from([wait]), ..Change::default() };
        let before = self.unordered.get_or_init(|| Change::default().unordered(self.program));
        match (before, without.unordered(self.program)) {
            (Some(before), Some(left)) => !left.is_subset(before),
            _ => true,
        }
    }

    /// The change, at each run of the lines; none where nothing that is there is changed. What goes
    /// to another line is gone in the turns in which that line is not run, the last of a loop
    /// perhaps.
    fn change(&self, uses: Uses, slip: &Slip) -> Option<Change> {
        let program = self.program;
        let firsts = self.all(&uses.first);
        let seconds = self.all(&uses.second);
        let stream = |of: Option<u32>, other: StreamId| {
            of.and_then(|step| stream_of(self.step(step))).unwrap_or(other)
        };
        let mut change = Change::default();
        match slip {
            Slip::RecordedTooEarly { record, wait } => {
                let waits = self.all(&wait.step);
                for &record in self.all(&record.step) {
                    let wait = next(firsts, record).and_then(|first| next(waits, first));
                    let first = wait.and_then(|wait| last(firsts, wait));
                    match first.filter(|first| *first > record) {
                        Some(first) => change.carry(program, record, first + 1),
                        None => drop(change.out.insert(record)),
                    }
                }
            }
            Slip::NotRecordedAgain { wait, .. } | Slip::NotRecorded { wait, record: None } => {
                self.record_for(self.all(&wait.step), firsts, uses, &mut change);
            }
            Slip::NotRecorded { wait, record: Some(record) } => {
                change.out.extend(self.all(&record.step));
                self.record_for(self.all(&wait.step), firsts, uses, &mut change);
            }
            Slip::WaitsForAnotherEvent { wait, record, .. } => {
                let records = self.all(&record.step);
                for &wait in self.all(&wait.step) {
                    let event = last(records, wait).and_then(|record| event(self.step(record)));
                    let call = event.and_then(|event| match self.step(wait) {
                        Call::StreamWait { stream, .. } => {
                            Some(Call::StreamWait { stream: *stream, event })
                        }
                        Call::EventSynchronize { .. } => Some(Call::EventSynchronize { event }),
                        _ => None,
                    });
                    if let Some(call) = call {
                        change.put_out(program, wait, call);
                    }
                }
            }
            Slip::RecordedElsewhere { record, .. } => {
                for &record in self.all(&record.step) {
                    let Some(event) = event(self.step(record)) else { continue };
                    let stream = stream(last(firsts, record), uses.stream);
                    change.put_out(program, record, Call::EventRecord { event, stream });
                }
            }
            Slip::WaitsTooLate { wait, record } => {
                let waits = self.all(&wait.step);
                for &wait in waits {
                    let start = last(waits, wait).unwrap_or(0);
                    let Some(second) = last(seconds, wait).filter(|step| *step > start) else {
                        change.out.insert(wait);
                        continue;
                    };
                    let recorded = self.wait_at(wait).and_then(|wait| wait.recorded);
                    let late = recorded.filter(|(step, _)| record.is_none() && *step > second);
                    if let Some((record, _)) = late {
                        change.carry(program, record, second);
                    }
                    change.carry(program, wait, second);
                }
            }
            Slip::AnotherWaits { wait, .. } => {
                for &wait in self.all(&wait.step) {
                    let Some(event) = event(self.step(wait)) else { continue };
                    let Waiter::Stream(waiter) = uses.waiter else { continue };
                    let stream = stream(next(seconds, wait), waiter);
                    change.put_out(program, wait, Call::StreamWait { stream, event });
                }
            }
            Slip::HostWaitsForAnother { wait, .. } => {
                for &wait in self.all(&wait.step) {
                    let stream = stream(last(firsts, wait), uses.stream);
                    change.put_out(program, wait, Call::StreamSynchronize { stream });
                }
            }
            Slip::HostWaitsTooEarly { wait } => {
                let waits = self.all(&wait.step);
                for &wait in waits {
                    let end = next(waits, wait).unwrap_or(u32::MAX);
                    match next(seconds, wait).filter(|step| *step < end) {
                        Some(second) => change.carry(program, wait, second),
                        None => drop(change.out.insert(wait)),
                    }
                }
            }
            Slip::NobodyWaits { record, .. } => {
                // Where the record's line is not run in each turn, there is a use that it does
                // nothing for.
                let records = self.all(&record.step);
                for &second in seconds {
                    let event = last(records, second).and_then(|record| event(self.step(record)));
                    let Some(event) = event else { continue };
                    let call = match stream_of(self.step(second)) {
                        Some(stream) if uses.waiter != Waiter::Host => {
                            Call::StreamWait { stream, event }
                        }
                        _ => Call::EventSynchronize { event },
                    };
                    change.put_in(program, second, second, call);
                }
            }
            Slip::ByTurns { .. } => return None,
        }
        Some(change)
    }

    /// Before each of the `waits` its event is recorded, right after the last of the `firsts`.
    fn record_for(&self, waits: &[u32], firsts: &[u32], uses: Uses, change: &mut Change) {
        for &wait in waits {
            let (Some(event), Some(first)) = (event(self.step(wait)), last(firsts, wait)) else {
                continue;
            };
            let stream = stream_of(self.step(first)).unwrap_or(uses.stream);
            let call = Call::EventRecord { event, stream };
            change.put_in(self.program, first + 1, first, call);
        }
    }

    /// All runs of the line of a step, or the step alone where its line is not known.
    fn all<'s>(&'s self, step: &'s u32) -> &'s [u32] {
        let runs = self.runs(*step);
        if runs.is_empty() { std::slice::from_ref(step) } else { runs }
    }
}

/// The event of a record or of a wait.
fn event(call: &Call) -> Option<EventId> {
    match call {
        Call::EventRecord { event, .. }
        | Call::StreamWait { event, .. }
        | Call::EventSynchronize { event } => Some(*event),
        _ => None,
    }
}
