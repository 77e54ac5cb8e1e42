//! Copy engines between host and device.
//!
//! An engine works on one copy at a time. It is not first come, first served over streams: when a
//! copy ends and the next operation of the same work queue is a copy that is ready, the engine
//! stays with the queue. That was measured on an H200 with CUPTI: 16 chunks issued breadth-first
//! over 4 streams, each of which has a queue to itself. Otherwise it takes the copy that has been
//! ready longest.
//!
//! While both engines work, both are slower, and each copy takes a little longer whatever its size.
//! On the same device copies of 64 KiB took 1.1 µs more upwards and 2.0 downwards, and those of
//! 2 MiB 3.9 and 5.8 (`tests/figures/duplex.txt`, driver 580.159.04, 2026-12-01).

use trace::timeline::SpanKind;

use super::ready_queue::Waiting;
use super::{
    Device, Direction, Effects, Event, FULL_SPEED, OperationId, Unit, Work, at, work_queues,
};

/// From an engine's number on one device to that on the next.
const STRIDE: u8 = 4;

impl Direction {
    pub(super) fn span_kind(self) -> SpanKind {
        match self {
            Direction::HostToDevice => SpanKind::HostToDevice,
            Direction::DeviceToHost => SpanKind::DeviceToHost,
            #[cfg(not(target_arch = "wasm32"))]
            Direction::ToPeer { .. } | Direction::FromPeer { .. } => SpanKind::PeerToPeer,
        }
    }
}

#[derive(Default)]
pub(super) struct Engine {
    active: Option<Transfer>,
    waiting: Waiting,
    /// The work queue that it served last.
    queue: Option<work_queues::QueueId>,
    /// It is kept for this copy, which follows in the same queue and is about to be ready.
    kept_for: Option<OperationId>,
    /// The copy of this engine that is ending right now lets its queue go on.
    ending: bool,
    generation: u32,
}

struct Transfer {
    id: OperationId,
    direction: Direction,
    /// Work left, in ns at full speed times [`FULL_SPEED`].
    left: u64,
    /// Of [`FULL_SPEED`].
    speed: u64,
    /// The other direction has been at work too.
    beside: bool,
    /// `left` was true at this instant.
    as_of: u64,
}

impl Device {
    /// The device that does an operation.
    pub(super) fn unit_of(&mut self, id: OperationId) -> &mut Unit {
        &mut self.units[at(self.operations[id].device.into())]
    }

    pub(super) fn engine_of(&self, direction: Direction) -> usize {
        match direction {
            #[cfg(not(target_arch = "wasm32"))]
            Direction::ToPeer { linked: true, .. } => super::ENGINES - 1,
            #[cfg(not(target_arch = "wasm32"))]
            Direction::ToPeer { .. } => self.engine_of(Direction::DeviceToHost),
            Direction::DeviceToHost if self.profile.chip.copy_engines.value >= 2 => 1,
            _ => 0,
        }
    }

    /// Called when a copy is issued: its engine stays with the queue if that is the queue it has
    /// just served.
    pub(super) fn keep_engine(&mut self, id: OperationId, direction: Direction, ready: u64) {
        let queue = self.operations.in_flight(id).queue;
        let soon = self.now + self.profile.gaps.copy_ns.value;
        let index = self.engine_of(direction);
        let engine = &mut self.unit_of(id).engines[index];
        if engine.ending && engine.queue == queue && ready <= soon && engine.kept_for.is_none() {
            engine.kept_for = Some(id);
        }
    }

    pub(super) fn transfer_ready(
        &mut self,
        id: OperationId,
        direction: Direction,
        effects: &mut impl Effects,
    ) {
        let index = self.engine_of(direction);
        let now = self.now;
        self.unit_of(id).engines[index].waiting.insert((0, now, id));
        let device = self.operations[id].device;
        self.start_transfer(device, index, effects);
    }

    fn start_transfer(&mut self, device: u8, index: usize, effects: &mut impl Effects) {
        let engine = &self.units[at(device.into())].engines[index];
        if engine.active.is_some() {
            return;
        }
        // A queue keeps the order of issue, so what has been waiting goes before what is about to
        // be.
        let waiting = engine.waiting.iter().map(|(_, _, id)| id);
        let of_queue =
            waiting.filter(|&id| self.operations.in_flight(id).queue == engine.queue).min();
        let next = match (of_queue, engine.kept_for) {
            (Some(next), _) => Some(next),
            (None, Some(_)) => None,
            (None, None) => engine.waiting.first().map(|(_, _, id)| id),
        };
        let Some(id) = next else { return };
        let queue = self.operations.in_flight(id).queue;
        let engine = &mut self.units[at(device.into())].engines[index];
        engine.waiting.remove(id);
        engine.kept_for = None;
        let Work::Transfer { direction, ns, .. } = self.operations.in_flight(id).work else {
            unreachable!("only transfers wait for a copy engine")
        };
        engine.queue = queue;
        engine.active = Some(Transfer {
            id,
            direction,
            left: ns.max(1) * FULL_SPEED,
            speed: FULL_SPEED,
            beside: false,
            as_of: self.now,
        });
        self.begin(id, effects);
        self.foresee_end(device, index);
    }

    pub(super) fn transfer_end(&mut self, engine: u8, generation: u32, effects: &mut impl Effects) {
        let (device, index) = (engine / STRIDE, engine % STRIDE);
        let engine = &mut self.units[at(device.into())].engines[usize::from(index)];
        if engine.generation != generation {
            return; // the copy changed speed since this end was foreseen
        }
        let Some(transfer) = engine.active.take() else { return };
        engine.ending = true;
        if index < 2 {
            self.share_link(device);
        }
        self.ending.push(transfer.id);
        self.work_off_ends(effects);
        self.units[at(device.into())].engines[usize::from(index)].ending = false;
        self.start_transfer(device, usize::from(index), effects);
    }

    /// A copy has started.
    fn foresee_end(&mut self, device: u8, index: usize) {
        if index < 2 {
            return self.share_link(device);
        }
        // The engine between devices shares nothing with the others.
        let engine = &mut self.units[at(device.into())].engines[index];
        engine.generation += 1;
        let generation = engine.generation;
        let left = engine.active.as_ref().map_or(0, |it| it.left);
        let (end, engine) = (self.now + left.div_ceil(FULL_SPEED), device * STRIDE + index as u8);
        self.schedule(end, Event::TransferEnd { engine, generation });
    }

    /// A copy from or to the host has started or ended: gives each its speed and foresees its end.
    fn share_link(&mut self, device: u8) {
        let engines = &self.units[at(device.into())].engines;
        let both = engines[..2].iter().all(|engine| engine.active.is_some());
        for index in 0..2 {
            let engine = &mut self.units[at(device.into())].engines[index];
            engine.generation += 1;
            let generation = engine.generation;
            let Some(transfer) = &mut engine.active else { continue };
            transfer.left =
                transfer.left.saturating_sub((self.now - transfer.as_of) * transfer.speed);
            transfer.as_of = self.now;
            let link = match transfer.direction {
                #[cfg(not(target_arch = "wasm32"))]
                Direction::FromPeer { .. } => &self.profile.copies.host_to_device,
                Direction::HostToDevice => &self.profile.copies.host_to_device,
                _ => &self.profile.copies.device_to_host,
            };
            transfer.speed = FULL_SPEED;
            if both {
                transfer.speed = link.duplex_permille.value * (FULL_SPEED / 1000);
                if !std::mem::replace(&mut transfer.beside, true) {
                    transfer.left += link.duplex_fixed_ns.value * transfer.speed;
                }
            }
            let end = self.now + transfer.left.div_ceil(transfer.speed);
            let engine = device * STRIDE + index as u8;
            self.schedule(end, Event::TransferEnd { engine, generation });
        }
    }
}
