//! The host's side: what each call costs it, and what blocks it.
//!
//! Which calls wait follows what was measured, not what the documentation leaves open: `cuMemFree`,
//! `cuMemFreeHost`, a module load and an unload wait for the whole device, `cuMemAlloc` and
//! `cuMemHostAlloc` do not. What a free unmaps, it unmaps after that wait. After kernels of 0.5 and
//! 0.9 ms it took 30 and 80 µs longer than a synchronisation; `cuMemFreeHost` took as much longer
//! as it takes on an idle device (H200 and H100, driver 580.159.04, 2026-11-28).

use trace::program::{
    Call, DEVICES, Direction, Launch, Mode, Place, StreamId, StreamKind, Timing, WorkQueues,
};
use trace::timeline::{HostMemory, Interval, SpanKind};

use super::mapping::PIECE;
use super::memory_pool::{Waited, waited_for};
use super::streams::Stream;
use super::wait::{Answer, Queued, Return, Wait, queued_in, time_of};
use super::{
    Device, Effects, FULL_SPEED, OperationId, State, Work, at, grids, peers, slot, work_queues,
};

/// One MiB, the unit of the costs of pinned allocation.
const MIB: u64 = 1 << 20;

/// In the playground each byte of code counts: there, memory is mapped for every block.
const IS_PAGE: bool = cfg!(target_arch = "wasm32");

impl Device {
    /// Makes a call of the host thread whose turn it is; spans and effects name it by `step`. The
    /// call must be valid: its streams, events and kernels exist. None if the call has not
    /// returned, because other threads go first: see [`Device::turn`].
    ///
    /// `device` is the one whose context is current, from 0.
    pub fn call_on(
        &mut self,
        device: u32,
        step: u32,
        call: &Call,
        effects: &mut impl Effects,
    ) -> Option<Answer> {
        self.current = device.min(DEVICES - 1);
        let thread = self.hosts.running();
        let meant = self.streams.meant(thread, call);
        let call = meant.as_ref().unwrap_or(call);
        let asked = self.host_ns;
        self.run_until(asked, effects);
        // A stream that is full holds the call until one of its operations starts.
        let full = queued_in(call).filter(|&stream| !self.has_room(stream));
        let start = match full {
            None => asked,
            Some(stream) if self.hosts.is_alone() => self.room_in(stream, asked, effects),
            Some(_) => {
                self.hold_for_room(thread, step, call);
                return None;
            }
        };
        self.make((thread, step), call, (asked, start), effects, Return::Now)
    }

    /// The same with the context of the first device.
    pub fn call(&mut self, step: u32, call: &Call, effects: &mut impl Effects) -> Option<Answer> {
        self.call_on(0, step, call, effects)
    }

    /// Makes a call for which there is room.
    pub(super) fn make(
        &mut self,
        (thread, step): (u32, u32),
        call: &Call,
        (asked, start): (u64, u64),
        effects: &mut impl Effects,
        how: Return,
    ) -> Option<Answer> {
        // Its thread has no core before, and no call blocks it.
        let (asked, start) = match call {
            Call::HostWork { ns } => [self.take_core(start, *ns); 2].into(),
            _ => (asked, start),
        };
        let mut blocked_ns = start - asked;
        let start = start + self.before_ns(call);
        let mut answer = Answer::YES;
        let mut waited = waited_for(self.current, call);
        let host = &self.profile.host;
        let (cost, wait) = match call {
            // A region begins on an idle device.
            Call::RegionBegin => (0, Wait::All),
            Call::RegionEnd | Call::HostAccess { .. } | Call::Answer { .. } => (0, Wait::None),
            // It leaves the core to others.
            Call::Arrival { at_ns, .. } => {
                let arrives = self.region_start.unwrap_or(0).saturating_add(*at_ns);
                (arrives.saturating_sub(start), Wait::None)
            }
            Call::Connections { count, copies } => {
                if self.operations.is_empty() {
                    let asked = WorkQueues { kernels: *count, copies: copies.unwrap_or(*count) };
                    for unit in &mut self.units {
                        unit.work_queues = work_queues::Queues::new(asked);
                    }
                }
                (0, Wait::None)
            }
            Call::HostWork { ns } => (*ns, Wait::None),
            Call::ThreadSpawn { .. }
            | Call::ThreadEnd
            | Call::ThreadJoin { .. }
            | Call::ChannelCreate { .. }
            | Call::ChannelSend { .. }
            | Call::ChannelReceive { .. }
            | Call::ChannelClose { .. } => self.thread_call(call, start),

            Call::StreamCreate { stream, kind, priority } => {
                let cost = host.stream_create_ns.value;
                self.create_stream(*stream, *kind, *priority);
                (cost, Wait::None)
            }
            Call::StreamDestroy { .. } => (host.stream_destroy_ns.value, Wait::None),
            Call::StreamSynchronize { stream } => {
                let cost = host.synchronize_ns.value;
                (cost, Wait::Stream(*stream))
            }
            Call::StreamQuery { stream } => {
                let cost = host.query_ns.value;
                answer.yes = self.tails(*stream).iter().all(|&id| self.has_ended(id));
                (cost, Wait::None)
            }
            Call::StreamWait { stream, event } => {
                let cost = host.stream_wait_ns.value;
                for unit in &mut self.units {
                    unit.memory_pool.wait(*stream, *event);
                }
                // An event that was never recorded holds nothing back.
                if let Some(recorded) = *slot(&mut self.events, event.0) {
                    self.submit(step, *stream, Work::Marker, start + cost, Some(recorded));
                }
                (cost, Wait::None)
            }
            Call::ContextSynchronize => (host.synchronize_ns.value, Wait::Device(self.current)),

            Call::EventCreate { event, timing } => {
                if *timing == Timing::Enabled {
                    *slot(&mut self.timed_events, event.0) = true;
                }
                (host.event_create_ns.value, Wait::None)
            }
            Call::EventDestroy { .. } => (host.event_destroy_ns.value, Wait::None),
            Call::EventRecord { event, stream } => {
                let cost = match *slot(&mut self.timed_events, event.0) {
                    true => host.event_record_timed_ns.value,
                    false => host.event_record_ns.value,
                };
                let id = self.submit(step, *stream, Work::Marker, start + cost, None);
                *slot(&mut self.events, event.0) = Some(id);
                for unit in &mut self.units {
                    unit.memory_pool.record(*event, *stream);
                }
                (cost, Wait::None)
            }
            Call::EventSynchronize { event } => {
                let cost = host.synchronize_ns.value;
                (cost, slot(&mut self.events, event.0).map_or(Wait::None, Wait::end_of))
            }
            Call::EventQuery { event } => {
                let cost = host.query_ns.value;
                let recorded = *slot(&mut self.events, event.0);
                answer.yes = recorded.is_none_or(|id| self.has_ended(id));
                (cost, Wait::None)
            }
            Call::EventElapsed { start: first, end: second } => {
                let cost = host.query_ns.value;
                let [first, second] =
                    [*first, *second].map(|event| *slot(&mut self.events, event.0));
                if let (Some(first), Some(second)) = (first, second)
                    && self.has_ended(first)
                    && self.has_ended(second)
                {
                    let end = |id: OperationId| self.operations[id as usize].end_ns as i64;
                    answer.elapsed_ns = Some(end(second) - end(first));
                }
                (cost, Wait::None)
            }

            Call::Alloc { block, bytes } => {
                let unit = &mut self.units[at(block.device())];
                match IS_PAGE || unit.mapping.allocate(*block, *bytes) {
                    true => (host.alloc_ns.value, Wait::None),
                    false => (host.alloc_shared_ns.value, Wait::None),
                }
            }
            Call::Free { block } => {
                let unit = &mut self.units[at(block.device())];
                // Stream-ordered memory goes back to its pool, and nothing waits (measured).
                if unit.memory_pool.free_now(*block) {
                    (host.free_async_ns.value, Wait::None)
                } else {
                    let cost = host.free_shared_ns.value;
                    if IS_PAGE || unit.mapping.free(*block) {
                        waited = Some(Waited::ToUnmap(host.free_ns.value.saturating_sub(cost)));
                    }
                    (cost, Wait::Device(block.device()))
                }
            }
            Call::AllocAsync { stream, block, bytes } => {
                let cost = host.alloc_async_ns.value + self.allocate((*block, *bytes), *stream);
                self.submit(step, *stream, Work::Marker, start + cost, None);
                (cost, Wait::None)
            }
            Call::FreeAsync { stream, block } => {
                let cost = host.free_async_ns.value;
                let free = self.submit(step, *stream, Work::Release, start + cost, None);
                self.pool_of(*block).free(*block, *stream, free);
                (cost, Wait::None)
            }
            Call::PoolKeep { bytes } => {
                self.units[at(self.current)].memory_pool.keep(*bytes);
                (host.other_ns.value, Wait::None)
            }
            Call::PoolTrim { bytes } => (host.other_ns.value + self.trim(*bytes), Wait::None),
            Call::AllocHost { block, bytes } => {
                *slot(&mut self.pinned, block.0) =
                    bytes.saturating_mul(DEVICES.into()).saturating_add(self.current.into());
                let cost = match IS_PAGE || self.host_mapping.allocate(*block, *bytes) {
                    true => {
                        let mapped = if IS_PAGE { *bytes } else { (*bytes).max(PIECE) };
                        host.alloc_host_ns.value + mapped * host.alloc_host_ns_per_mib.value / MIB
                    }
                    false => host.alloc_host_shared_ns.value,
                };
                (cost, Wait::None)
            }
            Call::FreeHost { block } => {
                let pinned = std::mem::take(slot(&mut self.pinned, block.0));
                let (bytes, device) =
                    (pinned / u64::from(DEVICES), (pinned % u64::from(DEVICES)) as u32);
                let cost = host.free_host_shared_ns.value;
                if IS_PAGE || self.host_mapping.free(*block) {
                    let mapped = if IS_PAGE { bytes } else { bytes.max(PIECE) };
                    let ns =
                        host.free_host_ns.value + mapped * host.free_host_ns_per_mib.value / MIB;
                    waited = Some(Waited::ToUnmap(ns.saturating_sub(cost)));
                }
                (cost, Wait::Device(device))
            }

            Call::Copy { stream, mode, source, target, bytes } => {
                let direction = call.direction().expect("a copy has a direction");
                let queued = self.copy(*stream, (direction, *mode), (source, target), *bytes);
                self.queue_work(step, *stream, queued, start)
            }
            Call::Memset { stream, mode, target } => {
                let cost = host.memset_ns.value;
                // Without `Async`, the host waits where the memory is pinned (CUDA driver API,
                // "API synchronization behavior").
                let is_pinned =
                    self.pinned.get(target.block.0 as usize).is_some_and(|&bytes| bytes > 0);
                let held = (*mode == Mode::Synchronous && is_pinned).then_some(0);
                let work = self.memset_work(target.bytes);
                let queued = Queued { held, ..Queued::free(work, cost) };
                self.queue_work(step, *stream, queued, start)
            }

            Call::ModuleLoad => (host.module_load_ns.value, Wait::Device(self.current)),
            #[cfg(target_arch = "wasm32")]
            Call::PeerAccess { .. } => (0, Wait::None),
            #[cfg(not(target_arch = "wasm32"))]
            Call::PeerAccess { by, pool, enabled } => {
                let cost = host.other_ns.value;
                self.set_access(*by, *pool, *enabled);
                (cost, Wait::None)
            }
            Call::ModuleUnload => (host.other_ns.value, Wait::Device(self.current)),
            Call::FunctionGet {
                kernel,
                name,
                rate,
                registers,
                shared_bytes,
                items,
                inner_loop,
            } => {
                let cost = host.other_ns.value;
                let facts = self.profile.rate(rate).ok().map(|rate| grids::Facts {
                    registers: *registers,
                    shared_bytes: *shared_bytes,
                    items: *items,
                    inner_loop: *inner_loop,
                    rate: rate.into(),
                });
                let known = slot(&mut self.kernels, kernel.0);
                known.name = Some(name.as_str().into());
                known.grid_facts = facts;
                known.last = None;
                (cost, Wait::None)
            }
            Call::Launch(launch) => match self.launch_work(launch) {
                Some(work) => {
                    let queued = Queued::free(work, self.profile.host.launch_ns.value);
                    self.queue_work(step, launch.stream, queued, start)
                }
                None => {
                    answer.yes = false;
                    (self.profile.host.launch_ns.value, Wait::None)
                }
            },
            Call::HostFunction { stream, .. } => {
                let queued = Queued::free(Work::HostFunction, host.host_function_ns.value);
                self.queue_work(step, *stream, queued, start)
            }

            Call::GraphCreate { graph, nodes } => {
                let cost =
                    host.other_ns.value + nodes.len() as u64 * host.graph_capture_node_ns.value;
                self.create_graph(*graph, nodes);
                (cost, Wait::None)
            }
            Call::GraphInstantiate { graph, updates } => {
                (self.instantiate_graph(*graph, *updates), Wait::None)
            }
            Call::GraphLaunch { graph, copy, stream, .. } => {
                let cost = self.graph_launch_ns(*graph, *copy);
                let visible = start + cost + self.profile.gaps.submit_ns.value;
                self.launch_graph(step, (*graph, *copy), *stream, visible);
                (cost, Wait::None)
            }
        };

        let wait = match call {
            Call::Free { .. } | Call::FreeHost { .. } | Call::ModuleLoad | Call::ModuleUnload
                if self.reordering.is_on() =>
            {
                Wait::None
            }
            _ => wait,
        };
        if let Call::Free { .. } | Call::FreeHost { .. } | Call::HostAccess { .. } = call {
            self.is_over_now(step, 0);
        }
        let mut end = start + cost;
        if self.is_held_by(wait) {
            let times = (asked, start, end);
            return self.hold((thread, step), times, (wait, waited), answer, how);
        }
        let held_until = match wait {
            Wait::Operation { id, held_ns } => {
                self.run_to_end_of(id, |device| device.goes_on(call, wait), effects);
                Some(self.operations[id as usize].end_ns + held_ns)
            }
            Wait::Stream(stream) => {
                let tails = self.tails(stream);
                for &id in &tails {
                    self.run_to_end_of(id, |_| false, effects);
                }
                tails.iter().map(|&id| self.operations[id as usize].end_ns).max()
            }
            Wait::All | Wait::Device(_) => {
                let mut last = 0;
                for device in 0..DEVICES {
                    if DEVICES == 1 || wait == Wait::All || wait == Wait::Device(device) {
                        self.run_device_to_idle(device, effects);
                        last = last.max(self.last_end_ns[at(device)]);
                    }
                }
                Some(last)
            }
            Wait::None | Wait::ThreadEnd(_) | Wait::Message(_) | Wait::Capacity(_) => None,
        };
        if let Some(freed) = held_until.map(|end_ns| end_ns + self.profile.host.wake_ns.value)
            && freed > end
            && held_until > Some(start)
        {
            blocked_ns += freed - end;
            end = freed;
        }
        end += self.give_back(waited);
        self.came_back((thread, step), (asked, end), blocked_ns, how);
        self.finish_in_order(effects);
        if self.hosts.is_alone() {
            self.run_until(end, effects);
        }
        match call {
            Call::RegionBegin => {
                self.region_start = Some(end);
                self.region.begin();
            }
            Call::RegionEnd => {
                self.region.end();
                self.timeline.region =
                    self.region_start.map(|region_start| Interval::new(region_start, end));
            }
            Call::ThreadEnd => self.retire(),
            _ => {}
        }
        Some(answer)
    }

    /// Works off everything that is queued.
    pub fn run_to_idle(&mut self, effects: &mut impl Effects) {
        for device in 0..DEVICES {
            self.run_device_to_idle(device, effects);
        }
    }

    fn run_device_to_idle(&mut self, device: u32, effects: &mut impl Effects) {
        self.work_off_ends(effects);
        while self.unfinished[at(device)] > 0 {
            self.next_event(effects);
        }
    }

    /// Whether the stream has room for another operation.
    pub(super) fn has_room(&self, stream: StreamId) -> bool {
        self.streams[stream].waiting < self.profile.chip.queue_depth.value.max(1)
    }

    /// When the stream has room for another operation, from `asked` on. Works off events until
    /// then.
    fn room_in(&mut self, stream: StreamId, asked: u64, effects: &mut impl Effects) -> u64 {
        let mut room = asked;
        while !self.has_room(stream) {
            self.next_event(effects);
            room = self.now;
        }
        room.max(asked)
    }

    fn queue_work(
        &mut self,
        step: u32,
        stream: StreamId,
        queued: Queued,
        start: u64,
    ) -> (u64, Wait) {
        let Queued { work, cost, held, more } = queued;
        let work = self.scheduled(work, step);
        let visible = start + cost + self.profile.gaps.submit_ns.value;
        let id = match peers::is_between(&work) {
            true => self.submit_peer_copy(step, stream, work, visible),
            false => self.submit(step, stream, work, visible, None),
        };
        (cost + more, held.map_or(Wait::None, |held_ns| Wait::Operation { id, held_ns }))
    }

    /// The work with the duration that this schedule gives it.
    pub(super) fn scheduled(&self, mut work: Work, step: u32) -> Work {
        let place = work.place();
        match &mut work {
            Work::Transfer { ns, .. } => *ns = self.schedule.duration(*ns, step, place),
            Work::Memory { grid, .. } | Work::Kernel { grid, .. } => {
                grid.block_ns = self.schedule.duration(grid.block_ns, step, place);
            }
            Work::Marker | Work::Release | Work::HostFunction => {}
        }
        work
    }

    pub(super) fn copy(
        &self,
        stream: StreamId,
        (direction, mode): (Direction, Mode),
        (source, target): (&Place, &Place),
        bytes: u64,
    ) -> Queued {
        let copies = &self.profile.copies;
        let host = &self.profile.host;
        let pageable = matches!(source, Place::Pageable) || matches!(target, Place::Pageable);
        let (link, way) = match direction {
            Direction::HostToDevice => (&copies.host_to_device, super::Direction::HostToDevice),
            Direction::DeviceToHost => (&copies.device_to_host, super::Direction::DeviceToHost),
            Direction::DeviceToDevice => {
                return Queued::free(
                    self.memory_work(SpanKind::DeviceToDevice, bytes),
                    host.copy_ns.value,
                );
            }
            #[cfg(target_arch = "wasm32")]
            Direction::PeerToPeer => return Queued::free(Work::Marker, 0),
            #[cfg(not(target_arch = "wasm32"))]
            Direction::PeerToPeer => return self.peer_copy(stream, (source, target), bytes),
            // The host moves the bytes itself, at the pace at which it stages them.
            Direction::HostToHost => {
                return Queued {
                    work: Work::Marker,
                    cost: time_of(bytes, copies.staging_bytes_per_us.value),
                    held: Some(0),
                    more: 0,
                };
            }
        };
        let transfer = |ns, memory| Work::Transfer { direction: way, ns, bytes, memory };
        let link_ns = link.pinned_fixed_ns.value + time_of(bytes, link.pinned_bytes_per_us.value);
        if !pageable {
            let held = (mode == Mode::Synchronous).then_some(0);
            return Queued {
                work: transfer(link_ns, HostMemory::Pinned),
                cost: host.copy_ns.value,
                held,
                more: 0,
            };
        }
        let host_ns = |bytes: u64| time_of(bytes, link.pageable_bytes_per_us.value);
        let chunk = bytes.min(copies.staging_chunk_bytes.value);
        // In pieces, the host's copy of one and the transfer of another overlap; what the host does
        // before the first transfer, or after the last, does not.
        let pieces_ns = match bytes > chunk {
            true => link.pageable_fixed_ns.value + host_ns(bytes - chunk),
            false => link_ns,
        };
        match way {
            super::Direction::HostToDevice if bytes <= copies.staged_bytes.value => {
                // The driver takes the data into a pinned buffer of its own during the call.
                let staging = time_of(bytes, copies.staging_bytes_per_us.value);
                Queued {
                    work: transfer(link_ns, HostMemory::Pageable),
                    cost: host.pageable_copy_ns.value + staging,
                    held: (mode == Mode::Synchronous).then_some(0),
                    more: 0,
                }
            }
            super::Direction::HostToDevice => Queued {
                work: transfer(pieces_ns, HostMemory::Pageable),
                cost: host_ns(chunk),
                held: Some(0),
                more: 0,
            },
            #[cfg(not(target_arch = "wasm32"))]
            super::Direction::ToPeer { .. } | super::Direction::FromPeer { .. } => {
                unreachable!("neither is a way between host and device")
            }
            super::Direction::DeviceToHost => Queued {
                work: transfer(pieces_ns, HostMemory::Pageable),
                cost: copies.pageable_call_ns.value,
                held: Some(host_ns(chunk)),
                more: 0,
            },
        }
    }

    pub(super) fn memset_work(&self, bytes: u64) -> Work {
        self.memory_work(SpanKind::Memset, bytes)
    }

    fn memory_work(&self, kind: SpanKind, bytes: u64) -> Work {
        let copies = &self.profile.copies;
        let bytes_per_us = match kind {
            SpanKind::Memset => copies.memset_bytes_per_us.value,
            _ => copies.device_bytes_per_us.value,
        };
        let grid = grids::Grid::of_memory(time_of(bytes, bytes_per_us), bytes, &self.profile);
        Work::Memory { kind, grid, bytes }
    }

    pub(super) fn kernel_work(&self, launch: &Launch) -> Option<Work> {
        let known = self.kernels.get(launch.kernel.0 as usize)?;
        let facts = known.grid_facts?;
        let priority = self.streams[launch.stream].priority;
        let shape = grids::Shape::of(launch);
        let mut grid = match known.last {
            Some((last, grid)) if last == shape => grid,
            _ => grids::Grid::new(&shape, &facts, &self.profile)?,
        };
        grid.priority = priority;
        Some(Work::Kernel { kernel: launch.kernel, grid })
    }

    /// The same, kept for the next launch: those of a kernel are mostly alike.
    fn launch_work(&mut self, launch: &Launch) -> Option<Work> {
        let work = self.kernel_work(launch)?;
        if let Work::Kernel { grid, .. } = work {
            slot(&mut self.kernels, launch.kernel.0).last = Some((grids::Shape::of(launch), grid));
        }
        Some(work)
    }

    fn create_stream(&mut self, stream: StreamId, kind: StreamKind, priority: i32) {
        let new = Stream::new(stream, kind == StreamKind::Blocking, priority);
        self.streams.create(stream, new);
    }

    /// The last operations that a wait for `stream` covers: its own, and for the legacy default
    /// stream those of the blocking streams too, because its work comes after theirs.
    pub(super) fn tails(&self, stream: StreamId) -> Vec<OperationId> {
        let legacy = stream.is_legacy();
        let counts = |other: StreamId, it: &Stream| {
            other == stream || (legacy && it.blocking && other.legacy() == stream)
        };
        let streams = self.streams.iter().filter(|&(other, it)| counts(other, it));
        streams.filter_map(|(_, it)| it.tail).collect()
    }

    pub(super) fn has_ended(&self, id: OperationId) -> bool {
        self.operations[id as usize].state == State::Done
    }
}

// Work left is counted in ns times FULL_SPEED in 64 bits: five hours at most for one operation.
const _: () = assert!(u64::MAX / FULL_SPEED > 5 * 3600 * 1_000_000_000);
