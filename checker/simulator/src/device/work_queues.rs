//! Work queues between streams and engines.
//!
//! Kernels, memsets, copies inside device memory and staged uploads share one set of queues, and
//! each copy engine has a set of its own: [`WorkQueues`]. An upload of a few KiB from pinned memory
//! goes with the kernels if nothing delays it when it is issued, and else with the copies. One of
//! up to 1 KiB goes with the kernels. A queue issues its operations in the order of the host's
//! calls: one whose turn in its own stream has not come holds back those after it, whatever their
//! streams. It is issued when its turn comes, not when the one before it ends, so kernels of two
//! streams in one queue may still run side by side.
//!
//! A stream takes a queue of a set when it has work for it, not when it is created, and keeps it
//! for as long as no other stream takes it. A stream without one takes a queue that no stream uses.
//! Where there is none, streams take the queues in turn: the new owner's work goes after what is
//! there, and the former owner has to take another for its next operation. So with more busy
//! streams than queues, operation i goes through queue i modulo their number. A kernel uses its
//! queue until it is issued, a copy until it has ended.
//!
//! All this is what an H200 was seen to do (driver 580.159.04, 2026-11-23). The measurements do not
//! tell whether "in turn" is round robin, as here, or the queue taken longest ago.
//!
//! # Kernels that wait
//! A kernel that waits for another is handed over when that one has ended, by one unit for all
//! queues. With two queues in use that takes no time. With more it does, whatever the others wait
//! for. Where two or three other queues had a kernel that waited, the next kernel of a stream took
//! 1.0 to 1.6 µs more. With four or five it was 1.1 to 2.0 µs, and 2.1 to 2.7 µs with more. Kernels
//! that ran in other streams made no difference, and neither did copies that waited there
//! (`tests/figures/gaps.txt`, same device and driver, 2026-12-01). Kernels of 0.6 µs in all of the
//! streams at once took up to 7 µs more each: here they do not wait for one another.
//!
//! From queue to queue kernels are handed over one at a time. Of kernels in a row, each on the next
//! of some streams, each took 0.9 µs more on three streams, 1.3 to 1.5 on four, and up to 2.2 on
//! eight (`waits.txt`). A kernel followed by *n* more on streams of their own, and joined, took
//! 2.2 µs more for each up to four (2026-11-23).
//!
//! A copy that waits for one of another stream, on the same engine, takes longer too. Uploads of
//! 256 KiB that waited for each other on 2 to 8 streams took 2.0 to 3.3 µs more each than in one
//! stream, and downloads 2.2 to 2.8 (driver 580.159.04, 2026-12-01).

use std::collections::VecDeque;

use trace::program::{StreamId, WorkQueues};
use trace::timeline::HostMemory;

use super::{Device, OperationId, Work, at};
use super::{Direction, ENGINES};

/// Sets of queues: for kernels, and for each copy engine.
const SETS: usize = 1 + ENGINES;

/// Uploads of up to this many bytes travel with the command itself, through the queues for kernels.
/// 1 KiB did and 4 KiB did not.
const TINY_UPLOAD: u64 = 1 << 10;
/// Uploads of up to this many bytes do so too, if nothing delays them. 24 KiB did and 32 KiB did
/// not.
const SMALL_UPLOAD: u64 = 24 << 10;

/// Time of handing over, in ns, by how many other queues have a kernel that waits: between what was
/// measured of kernels in one stream and of kernels on several.
const HAND_OVER_NS: [u64; 8] = [0, 0, 1000, 1200, 1400, 1600, 1950, 2150];
/// The same for a copy after one of another stream, in ns: the median of all 17.
const COPY_HAND_OVER_NS: u64 = 2660;

/// A device, a set of its own, and a queue in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueId {
    device: u8,
    set: u8,
    queue: u8,
}

#[derive(Default)]
struct Queue {
    /// The stream that took it last.
    owner: Option<StreamId>,
    /// Operations that have not been issued.
    entries: VecDeque<OperationId>,
    /// Operations that use it.
    users: u32,
    /// The last operation that was issued was not ready before.
    ready_ns: u64,
}

impl Queue {
    fn is_used(&self) -> bool {
        self.users > 0
    }
}

#[derive(Default)]
struct Set {
    queues: Vec<Queue>,
    /// Whose turn it is where none is free.
    next: usize,
}

impl Set {
    fn new(count: u32) -> Self {
        Self { queues: (0..count).map(|_| Queue::default()).collect(), next: 0 }
    }

    /// The queue that takes an operation of this stream.
    fn take(&mut self, stream: StreamId) -> usize {
        let own = self.queues.iter().position(|queue| queue.owner == Some(stream));
        let free = || self.queues.iter().position(|queue| queue.users == 0);
        let taken = own.or_else(free).unwrap_or(self.next);
        if own.is_none() {
            self.queues[taken].owner = Some(stream);
            self.next = (taken + 1) % self.queues.len();
        }
        taken
    }
}

/// All queues of a device.
pub(super) struct Queues {
    sets: [Set; SETS],
    /// When the last kernel that waited for another queue was handed over.
    handed_over_ns: u64,
}

impl Queues {
    pub(super) fn new(asked: WorkQueues) -> Self {
        let WorkQueues { kernels, copies } = asked.within_limits();
        let mut counts = [copies; SETS];
        counts[0] = kernels;
        Self { sets: counts.map(Set::new), handed_over_ns: 0 }
    }
}

impl Device {
    /// The set of queues that an operation passes through; none for what takes no engine, and for
    /// nodes of graphs.
    fn set_of(&self, id: OperationId) -> Option<usize> {
        if self.operations[id].node > 0 || self.reordering.is_on() {
            return None;
        }
        let operation = self.operations.in_flight(id);
        match operation.work {
            Work::Marker | Work::Release | Work::HostFunction => None,
            Work::Transfer { direction: Direction::HostToDevice, bytes, memory, .. }
                if self.goes_with_kernels(bytes, memory, operation.pending > 0) =>
            {
                Some(0)
            }
            Work::Kernel { .. } | Work::Memory { .. } => Some(0),
            Work::Transfer { direction, .. } => Some(1 + self.engine_of(direction)),
        }
    }

    fn goes_with_kernels(&self, bytes: u64, memory: HostMemory, is_delayed: bool) -> bool {
        match memory {
            HostMemory::Pageable => bytes <= self.profile.copies.staged_bytes.value,
            HostMemory::Pinned if is_delayed => bytes <= TINY_UPLOAD,
            HostMemory::Pinned => bytes <= SMALL_UPLOAD,
        }
    }

    /// Queues an operation that the host has issued.
    pub(super) fn enqueue(&mut self, id: OperationId) {
        if let Some(set) = self.set_of(id) {
            let in_flight = self.operations.in_flight(id);
            let (stream, home) = (in_flight.stream, in_flight.home());
            let taken = self.units[at(home.into())].work_queues.sets[set].take(stream);
            let place = QueueId { device: home, set: set as u8, queue: taken as u8 };
            let queue = self.queue(place);
            queue.entries.push_back(id);
            queue.users += 1;
            self.operations.in_flight_mut(id).queue = Some(place);
        }
        if self.operations.in_flight(id).pending == 0 {
            self.ready_to_issue(id);
        }
    }

    /// An operation has waited for what came through this queue, or for nothing that came through
    /// one: when it is handed over.
    pub(super) fn hand_over(&mut self, id: OperationId, after: Option<QueueId>) {
        let operation = self.operations.in_flight(id);
        let (Some(own), Some(after)) = (operation.queue, after) else { return };
        if after.set != own.set || after.device != own.device {
            return;
        }
        match operation.work {
            Work::Kernel { .. } => {}
            Work::Transfer { .. } if own != after => {
                let handed_over = self.now + self.profile.gaps.copy_ns.value + COPY_HAND_OVER_NS;
                let not_before = &mut self.operations.in_flight_mut(id).not_before;
                *not_before = (*not_before).max(handed_over);
                return;
            }
            _ => return,
        }
        let work_queues = &mut self.units[at(own.device.into())].work_queues;
        let queues = &work_queues.sets[usize::from(own.set)].queues;
        let waiting = queues.iter().filter(|queue| queue.is_used()).count().saturating_sub(1);
        let takes_ns = HAND_OVER_NS[waiting.min(HAND_OVER_NS.len() - 1)];
        if takes_ns == 0 {
            return;
        }
        let not_before = &mut self.operations.in_flight_mut(id).not_before;
        if own == after {
            *not_before = (*not_before).max(self.now) + takes_ns;
            return;
        }
        *not_before = (*not_before).max(self.now).max(work_queues.handed_over_ns) + takes_ns;
        work_queues.handed_over_ns = *not_before;
    }

    fn queue(&mut self, QueueId { device, set, queue }: QueueId) -> &mut Queue {
        &mut self.units[at(device.into())].work_queues.sets[usize::from(set)].queues
            [usize::from(queue)]
    }

    /// The operation's turn in its stream has come: it is issued as soon as it is first in its
    /// queue.
    pub(super) fn ready_to_issue(&mut self, id: OperationId) {
        let Some(place) = self.operations.in_flight(id).queue else { return self.release(id) };
        while let Some(&first) = self.queue(place).entries.front()
            && self.operations.in_flight(first).pending == 0
        {
            let not_before = self.operations.in_flight(first).not_before;
            let queue = self.queue(place);
            queue.entries.pop_front();
            queue.ready_ns = queue.ready_ns.max(not_before);
            let ready_ns = queue.ready_ns;
            self.operations.in_flight_mut(first).not_before = ready_ns;
            if place.set == 0 {
                self.queue(place).users -= 1;
            }
            self.release(first);
        }
    }

    /// An operation that went through this queue has ended: a copy no longer uses it.
    pub(super) fn leave_queue(&mut self, queue: Option<QueueId>) {
        if let Some(place) = queue
            && place.set > 0
        {
            self.queue(place).users -= 1;
        }
    }
}
