//! Statements of host threads about their streams: the records of an event, the launches of a
//! graph.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::program::StreamId;

use super::clock::Clock;

/// Statements about one thing, by one thread or by several.
///
/// What a stream holds only grows. So the last statement of a thread about a stream stands for all
/// of its earlier ones. To ask costs no more than there are threads and streams, however many
/// statements they made.
#[derive(Debug, Default)]
pub(super) struct EventClock {
    /// By thread and stream, in the order of the calls.
    rows: BTreeMap<(u32, StreamId), Vec<One>>,
    said: u64,
}

/// The clock of a stream at that time.
#[derive(Debug)]
pub(super) struct One {
    /// How often the thread had told others something, and once more.
    pub(super) told: u32,
    pub(super) clock: Rc<Clock>,
    /// Which it is of all that was said.
    number: u64,
}

/// Statements that a thread knows to have been made, and others that may have been.
#[derive(Debug, Default)]
pub(super) struct Known<'a> {
    /// Of each thread and stream the last that is known.
    pub(super) last: Vec<(u32, &'a One)>,
    /// Of each thread and stream the first that is not known.
    pub(super) maybe: Vec<&'a One>,
}

impl EventClock {
    /// It is said again. Of what a thread said before it told others anything, only the last
    /// counts.
    pub(super) fn say(&mut self, thread: u32, stream: StreamId, told: u32, clock: Rc<Clock>) {
        for (_, row) in self.rows.range_mut((thread, StreamId(0))..=(thread, StreamId(u32::MAX))) {
            row.pop_if(|last| last.told == told);
        }
        self.said += 1;
        let new = One { told, clock, number: self.said };
        self.rows.entry((thread, stream)).or_default().push(new);
    }

    /// Nothing was said.
    pub(super) fn forget(&mut self) {
        self.rows.clear();
    }

    /// How many threads said it of how many streams.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The only statement, if there is just one.
    pub(super) fn only(&self) -> Option<(u32, &One)> {
        let mut rows = self.rows.iter();
        match (rows.next(), rows.next()) {
            (Some((&(thread, _), row)), None) if row.len() == 1 => Some((thread, &row[0])),
            _ => None,
        }
    }

    /// The knowledge of one that has heard so much of each thread.
    pub(super) fn known(&self, heard: impl Fn(u32) -> u32) -> Known<'_> {
        let mut known = Known::default();
        for (&(thread, _), row) in &self.rows {
            let heard = heard(thread);
            let next = row.partition_point(|one| one.told <= heard);
            known.last.extend(row[..next].last().map(|one| (thread, one)));
            known.maybe.extend(row.get(next));
        }
        known
    }
}

impl<'a> Known<'a> {
    /// Of each thread the last that is known.
    pub(super) fn newest(&self) -> BTreeMap<u32, &'a One> {
        let mut newest: BTreeMap<u32, &One> = BTreeMap::new();
        for &(thread, one) in &self.last {
            let known = newest.entry(thread).or_insert(one);
            if known.number < one.number {
                *known = one;
            }
        }
        newest
    }
}
