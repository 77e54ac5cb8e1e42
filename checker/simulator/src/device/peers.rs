//! Two devices: copies from one to the other, and how one hears of the other's work.
//!
//! Where either has access to the memory at the other end, a copy goes over the link between the
//! two, in either direction. An engine of its own carries it, so it disturbs no transfer of the
//! host's: that of the device that has the data, if it is the one with access, and else that of the
//! other. Without access it goes through the host: the driver takes it out of one device and into
//! the other in pieces. That keeps an engine busy on each, and the host for a part of the time.
//! Access to what `cuMemAlloc` gave is one thing, access to what the default pool gave is another.
//!
//! An operation waits where its stream is, and is over where its engine is. Where those are two
//! devices, each such step takes [`Peers::heard_ns`](crate::profile::Peers) longer. A kernel of 21
//! µs on each in turn took 26.7 µs each (two H200 with NVLink, driver 580.159.04, 2026-11-27). With
//! a copy of 4 MiB between them, both took 73.5 µs in a stream of the sender and 78.8 in one of the
//! receiver.

use trace::program::{DEVICES, Place, Range, StreamId};
use trace::timeline::HostMemory;

use super::Direction;
use super::wait::{Queued, time_of};
use super::work::NOWHERE;
use super::{Device, OperationId, Unit, Work, at};
use crate::profile::Profile;

/// Access of a device to the other one's memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    /// To memory that `cuMemAlloc` gave.
    pub(super) memory: bool,
    /// To memory of the default pool.
    pub(super) pool: bool,
}

/// The device whose engine does it, where that need not be the one that its stream is on.
pub(super) fn sender(work: &Work) -> Option<u8> {
    match work {
        Work::Transfer { direction: Direction::ToPeer { by, .. }, .. } => Some(*by),
        Work::Transfer { direction: Direction::FromPeer { to }, .. } => Some(*to),
        _ => None,
    }
}

/// Whether it is a copy between devices.
pub(super) fn is_between(work: &Work) -> bool {
    matches!(work, Work::Transfer { direction: Direction::ToPeer { .. }, .. })
}

/// Two devices of one kind.
pub(super) fn units(profile: &Profile) -> [Unit; DEVICES as usize] {
    [Unit::new(profile), Unit::new(profile)]
}

/// Time of so many bytes over the link, in ns, without what a copy costs besides.
pub(crate) fn over_link_ns(profile: &Profile, bytes: u64) -> u64 {
    time_of(bytes, profile.peers.bytes_per_us.value)
}

/// How much later one hears of what the other device did, in ns. The second half of a copy is no
/// operation of its own.
pub(super) fn heard_ns(profile: &Profile, node: u32) -> u64 {
    if node == HALF { 0 } else { profile.peers.heard_ns.value }
}

impl Device {
    /// A device may use the other one's memory from now on, or may not.
    pub(super) fn set_access(&mut self, by: u32, pool: bool, enabled: bool) {
        let access = &mut self.units[at(by)].access;
        *if pool { &mut access.pool } else { &mut access.memory } = enabled;
    }

    /// Whether a device may use what `cuMemAlloc` gave on the other one.
    pub(crate) fn has_access(&self, by: u32) -> bool {
        self.units[at(by)].access.memory
    }

    /// Whether a device may use a block of the other one's memory.
    pub(crate) fn may_use(&self, by: u32, range: &Range) -> bool {
        let access = self.units[at(by)].access;
        if self.is_of_pool(range.block) { access.pool } else { access.memory }
    }

    /// A copy from the memory of one device to that of the other, in a stream of either.
    pub(super) fn peer_copy(
        &self,
        stream: StreamId,
        (source, target): (&Place, &Place),
        bytes: u64,
    ) -> Queued {
        let (Place::Device(source), Place::Device(target)) = (source, target) else {
            unreachable!("both ends are in the memory of devices")
        };
        let figures = &self.profile.peers;
        let (from, to) = (source.block.device(), target.block.device());
        let sends = self.may_use(from, target);
        let linked = sends || self.may_use(to, source);
        let by = if linked && !sends { to } else { from };
        let transfer = |ns| Work::Transfer {
            direction: Direction::ToPeer { by: by as u8, linked },
            ns,
            bytes,
            memory: NO_HOST_MEMORY,
            target: *target,
        };
        if linked {
            let ns = figures.fixed_ns.value + over_link_ns(&self.profile, bytes);
            let call = if by == stream.device() { &figures.call_ns } else { &figures.far_call_ns };
            return Queued::free(transfer(ns), call.value);
        }
        let twice = bytes.saturating_add(bytes.min(figures.staged_piece_bytes.value));
        let ns = figures.staged_fixed_ns.value + time_of(twice, figures.staged_bytes_per_us.value);
        let more = bytes.saturating_sub(figures.staged_free_bytes.value);
        Queued {
            more: time_of(more, figures.staged_call_bytes_per_us.value),
            ..Queued::free(transfer(ns), figures.staged_call_ns.value)
        }
    }

    /// Queues a copy between devices. One in the default stream of a device is in that of the other
    /// too. One through the host is two operations: the second starts when the first does, and the
    /// copy is over when both are. Returns the operation that stands for all of it.
    pub(super) fn submit_peer_copy(
        &mut self,
        step: u32,
        stream: StreamId,
        work: Work,
        visible_ns: u64,
    ) -> OperationId {
        let Work::Transfer { direction: Direction::ToPeer { by, linked }, ns, bytes, .. } = work
        else {
            unreachable!("only a copy between devices is one")
        };
        let other = stream.is_legacy().then(|| StreamId::on(1 - stream.device(), stream.number()));
        let before = other.map(|other| self.submit_aside(step, other, visible_ns, None));
        let mut id = self.submit(step, stream, work, visible_ns, before);
        if !linked {
            let direction = Direction::FromPeer { to: 1 - by };
            let (memory, target) = (NO_HOST_MEMORY, NOWHERE);
            let work = Work::Transfer { direction, ns, bytes, memory, target };
            let half = self.add(step, HALF, stream, work, visible_ns);
            self.operations.in_flight_mut(half).pending = 1;
            self.halves.push((id, half));
            id = self.submit_aside(step, stream, visible_ns, Some(half));
        }
        if let Some(other) = other {
            self.streams[other].tail = Some(id);
        }
        id
    }

    /// Queues a marker that is not the step's own operation: nothing moves when it is over.
    fn submit_aside(
        &mut self,
        step: u32,
        stream: StreamId,
        visible_ns: u64,
        after: Option<OperationId>,
    ) -> OperationId {
        let id = self.submit(step, stream, Work::Marker, visible_ns, after);
        self.operations[id].node = ASIDE;
        id
    }

    /// An operation starts now: so does the other half of a copy through the host.
    pub(super) fn start_half(&mut self, id: OperationId) {
        if let Some(at) = self.halves.iter().position(|(first, _)| *first == id) {
            let (_, half) = self.halves.swap_remove(at);
            self.operations.in_flight_mut(half).pending = 0;
            self.ready_to_issue(half);
        }
    }
}

/// A copy between devices has none; this stands for it.
const NO_HOST_MEMORY: HostMemory = HostMemory::Pinned;

/// The node of a launch that the second half of a copy through the host counts as: no graph has so
/// many.
const HALF: u32 = u32::MAX;
/// And what a marker of such a copy counts as.
const ASIDE: u32 = u32::MAX - 1;
