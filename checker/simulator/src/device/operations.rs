//! Operations, in two parts: one that is kept to the end of the run, and one until they end.
//!
//! A run may have millions of them, of which few are in flight at a time. So the second part of one
//! that has ended is used again for the next one.

use std::ops::{Index, IndexMut};

use trace::program::StreamId;

use super::work::{RunsOn, Work};
use super::{peers, work_queues};

pub(super) type OperationId = u32;

/// No index, and the end of a list.
const NONE: u32 = u32::MAX;

/// Facts of an operation that are kept to the end of the run.
pub(super) struct Operation {
    pub(super) step: u32,
    /// Which node it is of the graph that the step launches, from 1; 0 if it is none.
    pub(super) node: u32,
    /// Index of its [`InFlight`]; [`NONE`] once it has ended.
    place: u32,
    /// The device whose engines do it: that of its stream, but for copies between devices.
    pub(super) device: u8,
    /// Where it runs. A marker takes the place of what it waited for last, so that an event between
    /// two operations costs no more than their own order.
    pub(super) runs_on: RunsOn,
    /// Memory goes back to its pool.
    pub(super) is_release: bool,
    /// When it ended, in ns; 0 until then.
    pub(super) end_ns: u64,
}

impl Operation {
    pub(super) fn has_ended(&self) -> bool {
        self.place == NONE
    }
}

/// Facts of an operation that are needed until it ends.
pub(super) struct InFlight {
    pub(super) stream: StreamId,
    pub(super) work: Work,
    /// How many operations it still waits for.
    pub(super) pending: u32,
    /// The first of the operations that wait for it.
    first_edge: u32,
    /// Not ready before: the host's call, and the ends of what it waited for with the gap after
    /// them.
    pub(super) not_before: u64,
    pub(super) start_ns: u64,
    /// The work queue that it passes through, or has passed through.
    pub(super) queue: Option<work_queues::QueueId>,
    /// The work queue of what it waited for last; a marker hands on that of what it waited for
    /// itself.
    pub(super) after: Option<work_queues::QueueId>,
}

impl InFlight {
    /// The device that its stream is on.
    pub(super) fn home(&self) -> u8 {
        self.stream.device() as u8
    }
}

#[derive(Clone, Copy)]
struct Edge {
    to: OperationId,
    next: u32,
}

/// All operations of a run, in the order of issue.
pub(super) struct Operations {
    all: Vec<Operation>,
    in_flight: Vec<InFlight>,
    /// Indices of those that are free.
    free: Vec<u32>,
    edges: Vec<Edge>,
    /// The first of the edges that are free.
    free_edge: u32,
}

impl Operations {
    pub(super) fn new() -> Self {
        Self {
            all: Vec::new(),
            in_flight: Vec::new(),
            free: Vec::new(),
            edges: Vec::new(),
            free_edge: NONE,
        }
    }

    /// Reserves room for so many.
    pub(super) fn reserve(&mut self, count: usize) {
        self.all.reserve(count);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds an operation that waits for nothing yet and is in no queue.
    pub(super) fn add(
        &mut self,
        step: u32,
        node: u32,
        stream: StreamId,
        work: Work,
        visible_ns: u64,
    ) -> OperationId {
        let in_flight = InFlight {
            stream,
            work,
            pending: 0,
            first_edge: NONE,
            not_before: visible_ns,
            start_ns: 0,
            queue: None,
            after: None,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.in_flight[place as usize] = in_flight;
                place
            }
            None => {
                self.in_flight.push(in_flight);
                self.in_flight.len() as u32 - 1
            }
        };
        let id = self.all.len() as OperationId;
        self.all.push(Operation {
            step,
            node,
            place,
            device: peers::sender(&work).unwrap_or(stream.device() as u8),
            runs_on: work.runs_on(),
            is_release: matches!(work, Work::Release),
            end_ns: 0,
        });
        id
    }

    /// One that has not ended.
    pub(super) fn in_flight(&self, id: OperationId) -> &InFlight {
        &self.in_flight[self[id].place as usize]
    }

    /// One that has not ended, to be changed.
    pub(super) fn in_flight_mut(&mut self, id: OperationId) -> &mut InFlight {
        let place = self[id].place;
        &mut self.in_flight[place as usize]
    }

    /// Makes `id` wait for `on`, which has not ended.
    pub(super) fn depend(&mut self, on: OperationId, id: OperationId) {
        let edge = Edge { to: id, next: self.in_flight(on).first_edge };
        let taken = self.free_edge;
        let taken = match self.edges.get_mut(taken as usize) {
            Some(free) => {
                self.free_edge = free.next;
                *free = edge;
                taken
            }
            None => {
                self.edges.push(edge);
                self.edges.len() as u32 - 1
            }
        };
        self.in_flight_mut(on).first_edge = taken;
        self.in_flight_mut(id).pending += 1;
    }

    /// Ends an operation. Yields the part of it that is used again from now on, and adds to
    /// `waiting` those that waited for it, the last one first.
    pub(super) fn end(
        &mut self,
        id: OperationId,
        end_ns: u64,
        waiting: &mut Vec<OperationId>,
    ) -> &InFlight {
        let operation = &mut self[id];
        operation.end_ns = end_ns;
        let place = std::mem::replace(&mut operation.place, NONE);
        self.free.push(place);
        let ended = &self.in_flight[place as usize];
        let mut edge = ended.first_edge;
        while let Some(Edge { to, next }) = self.edges.get_mut(edge as usize) {
            waiting.push(*to);
            let after = std::mem::replace(next, self.free_edge);
            self.free_edge = edge;
            edge = after;
        }
        ended
    }
}

impl Index<OperationId> for Operations {
    type Output = Operation;

    fn index(&self, id: OperationId) -> &Operation {
        &self.all[id as usize]
    }
}

impl IndexMut<OperationId> for Operations {
    fn index_mut(&mut self, id: OperationId) -> &mut Operation {
        &mut self.all[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(operations: &mut Operations) -> OperationId {
        operations.add(0, 0, StreamId::LEGACY, Work::Marker, 0)
    }

    #[test]
    fn those_that_waited_come_from_the_last_to_the_first() {
        let mut operations = Operations::new();
        let [first, second, third] = [(); 3].map(|()| marker(&mut operations));
        operations.depend(first, second);
        operations.depend(first, third);
        assert_eq!(operations.in_flight(third).pending, 1);
        let mut waiting = Vec::new();
        operations.end(first, 7, &mut waiting);
        assert_eq!(waiting, [third, second]);
        assert_eq!((operations[first].has_ended(), operations[first].end_ns), (true, 7));
        assert!(!operations[second].has_ended());
    }

    #[test]
    fn a_long_run_takes_no_more_room_in_flight_than_its_widest_moment() {
        let mut operations = Operations::new();
        let mut last = marker(&mut operations);
        let mut waiting = Vec::new();
        for turn in 0..1000 {
            let [left, right] = [(); 2].map(|()| marker(&mut operations));
            operations.depend(last, left);
            operations.depend(last, right);
            operations.depend(left, right);
            operations.end(last, turn, &mut waiting);
            operations.end(left, turn, &mut waiting);
            assert_eq!(waiting, [right, left, right], "turn {turn}");
            waiting.clear();
            last = right;
        }
        assert_eq!((operations.in_flight.len(), operations.edges.len()), (3, 3));
    }
}
