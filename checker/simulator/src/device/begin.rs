//! The beginning of each call: its cost to the host, its effect on the device, and its wait.
//!
//! Which calls wait follows what was measured, not what the documentation leaves open: `cuMemFree`,
//! `cuMemFreeHost`, a module load and an unload wait for the whole device, `cuMemAlloc` and
//! `cuMemHostAlloc` do not. What a free unmaps, it unmaps after that wait. After kernels of 0.5 and
//! 0.9 ms it took 30 and 80 µs longer than a synchronisation; `cuMemFreeHost` took as much longer
//! as it takes on an idle device (H200 and H100, driver 580.159.04, 2026-11-28).

use trace::program::{
    Access, AccessKind, BlockId, Call, Direction, EventId, Launch, Mode, Place, Range, StreamId,
    StreamKind, Timing, WorkQueues,
};
use trace::timeline::{HostMemory, SpanKind};

use super::mapping::IS_PAGE;
use super::memory_pool::{Waited, waited_for};
use super::streams::Stream;
use super::wait::{Answer, Queued, Wait, time_of};
use super::work::NOWHERE;
use super::{Device, OperationId, Work, at, grids, peers, slot, work_queues};
use crate::profile::Figure;

/// One MiB, the unit of what mapping and unmapping memory costs.
const MIB: u64 = 1 << 20;

/// The time of mapping or unmapping so many bytes, in ns: a fixed part, and one for each MiB.
fn by_size(fixed: &Figure, per_mib: &Figure, bytes: u64) -> u64 {
    fixed.value + bytes.saturating_mul(per_mib.value) / MIB
}

/// The part of device memory that a place is; none of other memory.
fn on_device(place: &Place) -> Range {
    match place {
        Place::Device(range) => *range,
        _ => NOWHERE,
    }
}

/// A call that has begun.
pub(super) struct Begun {
    /// The time that it takes the host before it waits, in ns.
    pub(super) cost: u64,
    pub(super) wait: Wait,
    /// The wait as a memory pool and mapped memory see it.
    pub(super) waited: Option<Waited>,
    pub(super) answer: Answer,
}

impl Device {
    /// Begins a call at `start`, in ns.
    // Apart from its one caller it takes a twentieth of the time of a replay more; in a page each
    // byte of code counts.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn begin_call(&mut self, step: u32, call: &Call, start: u64) -> Begun {
        let mut waited = waited_for(self.current, call);
        let mut answer = Answer::YES;
        let host = &self.profile.host;
        let free = |cost: u64| (cost, Wait::None);
        let (cost, wait) = match call {
            // A region begins on an idle device.
            Call::RegionBegin => (0, Wait::All),
            Call::RegionEnd | Call::HostAccess { .. } | Call::Answer { .. } => free(0),
            // It leaves the core to others.
            Call::Arrival { at_ns, .. } => {
                let arrives = self.region_start.unwrap_or(0).saturating_add(*at_ns);
                free(arrives.saturating_sub(start))
            }
            Call::Connections { count, copies } => {
                self.set_work_queues(*count, copies.unwrap_or(*count));
                free(0)
            }
            Call::HostWork { ns, target } => {
                if let Some(range) = target.filter(|_| !IS_PAGE) {
                    self.host_cache.write(range, self.profile.copies.fresh_bytes.value);
                }
                free(*ns)
            }
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
                free(cost)
            }
            Call::StreamDestroy { .. } => free(host.stream_destroy_ns.value),
            Call::StreamSynchronize { stream } => {
                (host.synchronize_ns.value, Wait::Stream(*stream))
            }
            Call::StreamQuery { stream } => {
                answer.yes = self.tails(*stream).iter().all(|&id| self.has_ended(id));
                free(host.query_ns.value)
            }
            Call::StreamWait { stream, event } => free(self.wait_for(step, *stream, *event, start)),
            Call::ContextSynchronize => (host.synchronize_ns.value, Wait::Device(self.current)),

            Call::EventCreate { event, timing } => {
                if *timing == Timing::Enabled {
                    *slot(&mut self.timed_events, event.0) = true;
                }
                free(host.event_create_ns.value)
            }
            Call::EventDestroy { .. } => free(host.event_destroy_ns.value),
            Call::EventRecord { event, stream } => free(self.record(step, *event, *stream, start)),
            Call::EventSynchronize { event } => {
                let cost = host.synchronize_ns.value;
                (cost, slot(&mut self.events, event.0).map_or(Wait::None, Wait::end_of))
            }
            Call::EventQuery { event } => {
                let cost = host.query_ns.value;
                let recorded = *slot(&mut self.events, event.0);
                answer.yes = recorded.is_none_or(|id| self.has_ended(id));
                free(cost)
            }
            Call::EventElapsed { start: first, end: second } => {
                let cost = host.query_ns.value;
                answer.elapsed_ns = self.elapsed(*first, *second);
                free(cost)
            }

            Call::Alloc { block, bytes } => free(self.allocate_device(*block, *bytes)),
            Call::Free { block } => self.free_device(*block, &mut waited),
            Call::AllocAsync { stream, block, bytes } => {
                let cost = host.alloc_async_ns.value + self.allocate((*block, *bytes), *stream);
                self.submit(step, *stream, Work::Marker, start + cost, None);
                free(cost)
            }
            Call::FreeAsync { stream, block } => {
                let cost = host.free_async_ns.value;
                let freed = self.submit(step, *stream, Work::Release, start + cost, None);
                self.pool_of(*block).free(*block, *stream, freed);
                free(cost)
            }
            Call::PoolKeep { bytes } => {
                self.units[at(self.current)].memory_pool.keep(*bytes);
                free(host.other_ns.value)
            }
            Call::PoolTrim { bytes } => free(host.other_ns.value + self.trim(*bytes)),
            Call::AllocHost { block, bytes } => free(self.allocate_host(*block, *bytes)),
            Call::FreeHost { block } => self.free_host(*block, &mut waited),

            Call::Copy { stream, mode, source, target, bytes } => {
                let direction = call.direction().expect("a copy has a direction");
                let mut queued = self.copy(*stream, (direction, *mode), (source, target), *bytes);
                queued.work = self.out_of_cache(queued.work, source);
                self.queue_work(step, *stream, queued, start)
            }
            Call::Memset { stream, mode, target } => {
                let queued = self.memset(*mode, *target);
                self.queue_work(step, *stream, queued, start)
            }

            Call::ModuleLoad => (host.module_load_ns.value, Wait::Device(self.current)),
            Call::ModuleUnload => (host.other_ns.value, Wait::Device(self.current)),
            #[cfg(target_arch = "wasm32")]
            Call::PeerAccess { .. } => free(0),
            #[cfg(not(target_arch = "wasm32"))]
            Call::PeerAccess { by, pool, enabled } => {
                let cost = host.other_ns.value;
                self.set_access(*by, *pool, *enabled);
                free(cost)
            }
            Call::FunctionGet { .. } => {
                let cost = host.other_ns.value;
                self.get_function(call);
                free(cost)
            }
            Call::Launch(launch) => {
                let cost = host.launch_ns.value;
                match self.launch_work(launch) {
                    Some(work) => {
                        self.queue_work(step, launch.stream, Queued::free(work, cost), start)
                    }
                    None => {
                        answer.yes = false;
                        free(cost)
                    }
                }
            }
            Call::HostFunction { stream, .. } => {
                let queued = Queued::free(Work::HostFunction, host.host_function_ns.value);
                self.queue_work(step, *stream, queued, start)
            }

            Call::GraphCreate { graph, nodes } => {
                let each = host.graph_capture_node_ns.value;
                let cost = host.other_ns.value + nodes.len() as u64 * each;
                self.create_graph(*graph, nodes);
                free(cost)
            }
            Call::GraphInstantiate { graph, updates } => {
                free(self.instantiate_graph(*graph, *updates))
            }
            Call::GraphLaunch { graph, copy, stream, .. } => {
                let cost = self.graph_launch_ns(*graph, *copy);
                let visible = start + cost + self.profile.gaps.submit_ns.value;
                self.launch_graph(step, (*graph, *copy), *stream, visible);
                free(cost)
            }
        };
        // With another order the operations decide alone what comes after what.
        let is_unasked = matches!(
            call,
            Call::Free { .. } | Call::FreeHost { .. } | Call::ModuleLoad | Call::ModuleUnload
        );
        let wait = if is_unasked && self.reordering.is_on() { Wait::None } else { wait };
        Begun { cost, wait, waited, answer }
    }

    /// Sets the number of work queues, before there is any work.
    fn set_work_queues(&mut self, kernels: u32, copies: u32) {
        if self.operations.is_empty() {
            for unit in &mut self.units {
                unit.work_queues = work_queues::Queues::new(WorkQueues { kernels, copies });
            }
        }
    }

    /// Makes a stream wait for an event. The cost to the host, in ns.
    fn wait_for(&mut self, step: u32, stream: StreamId, event: EventId, start: u64) -> u64 {
        let cost = self.profile.host.stream_wait_ns.value;
        for unit in &mut self.units {
            unit.memory_pool.wait(stream, event);
        }
        // An event that was never recorded holds nothing back.
        if let Some(recorded) = *slot(&mut self.events, event.0) {
            self.submit(step, stream, Work::Marker, start + cost, Some(recorded));
        }
        cost
    }

    /// Records an event. The cost to the host, in ns.
    fn record(&mut self, step: u32, event: EventId, stream: StreamId, start: u64) -> u64 {
        let cost = match *slot(&mut self.timed_events, event.0) {
            true => self.profile.host.event_record_timed_ns.value,
            false => self.profile.host.event_record_ns.value,
        };
        let id = self.submit(step, stream, Work::Marker, start + cost, None);
        *slot(&mut self.events, event.0) = Some(id);
        for unit in &mut self.units {
            unit.memory_pool.record(event, stream);
        }
        cost
    }

    /// The time between two events, in ns; none where one has not come to pass.
    fn elapsed(&mut self, first: EventId, second: EventId) -> Option<i64> {
        let [first, second] = [first, second].map(|event| *slot(&mut self.events, event.0));
        let (first, second) = (first?, second?);
        let end = |id: OperationId| self.operations[id].end_ns as i64;
        (self.has_ended(first) && self.has_ended(second)).then(|| end(second) - end(first))
    }

    /// Allocates device memory. The cost to the host, in ns.
    fn allocate_device(&mut self, block: BlockId, bytes: u64) -> u64 {
        let unit = &mut self.units[at(block.device())];
        match IS_PAGE || unit.mapping.allocate(block, bytes) > 0 {
            true => self.profile.host.alloc_ns.value,
            false => self.profile.host.alloc_shared_ns.value,
        }
    }

    fn free_device(&mut self, block: BlockId, waited: &mut Option<Waited>) -> (u64, Wait) {
        let host = &self.profile.host;
        let unit = &mut self.units[at(block.device())];
        // Stream-ordered memory goes back to its pool, and nothing waits (measured).
        if unit.memory_pool.free_now(block) {
            return (host.free_async_ns.value, Wait::None);
        }
        let cost = host.free_shared_ns.value;
        let unmapped = if IS_PAGE { 0 } else { unit.mapping.free(block) };
        if unmapped > 0 {
            let ns = by_size(&host.free_ns, &host.free_ns_per_mib, unmapped);
            *waited = Some(Waited::ToUnmap(ns.saturating_sub(cost)));
        }
        (cost, Wait::Device(block.device()))
    }

    /// Allocates pinned memory. The cost to the host, in ns.
    fn allocate_host(&mut self, block: BlockId, bytes: u64) -> u64 {
        *slot(&mut self.pinned, block.0) = Some(self.current);
        let host = &self.profile.host;
        match self.host_mapping.allocate(block, bytes) {
            0 => host.alloc_host_shared_ns.value,
            mapped => by_size(&host.alloc_host_ns, &host.alloc_host_ns_per_mib, mapped),
        }
    }

    fn free_host(&mut self, block: BlockId, waited: &mut Option<Waited>) -> (u64, Wait) {
        let device = slot(&mut self.pinned, block.0).take().unwrap_or_default();
        let host = &self.profile.host;
        let cost = host.free_host_shared_ns.value;
        let unmapped = self.host_mapping.free(block);
        if unmapped > 0 {
            let ns = by_size(&host.free_host_ns, &host.free_host_ns_per_mib, unmapped);
            *waited = Some(Waited::ToUnmap(ns.saturating_sub(cost)));
        }
        (cost, Wait::Device(device))
    }

    fn memset(&self, mode: Mode, target: Range) -> Queued {
        // Without `Async`, the host waits where the memory is pinned (CUDA driver API, "API
        // synchronization behavior").
        let is_pinned = self.is_pinned(target.block);
        let blocked = (mode == Mode::Synchronous && is_pinned).then_some(0);
        Queued {
            blocked,
            ..Queued::free(self.memset_work(target), self.profile.host.memset_ns.value)
        }
    }

    /// Whether it is a block of pinned memory.
    pub(super) fn is_pinned(&self, block: BlockId) -> bool {
        self.pinned.get(block.0 as usize).is_some_and(Option::is_some)
    }

    /// Notes what a kernel needs.
    fn get_function(&mut self, call: &Call) {
        let Call::FunctionGet { kernel, name, rate, registers, shared_bytes, items, inner_loop } =
            call
        else {
            return;
        };
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
    }

    fn queue_work(
        &mut self,
        step: u32,
        stream: StreamId,
        queued: Queued,
        start: u64,
    ) -> (u64, Wait) {
        let Queued { work, cost, blocked, more } = queued;
        let work = self.scheduled(work, step);
        let visible = start + cost + self.profile.gaps.submit_ns.value;
        let id = match peers::is_between(&work) {
            true => self.submit_peer_copy(step, stream, work, visible),
            false => self.submit(step, stream, work, visible, None),
        };
        (cost + more, blocked.map_or(Wait::None, |more_ns| Wait::Operation { id, more_ns }))
    }

    /// The work with the duration that this schedule gives it.
    pub(super) fn scheduled(&self, mut work: Work, step: u32) -> Work {
        let place = work.runs_on();
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
        let pageable = [source, target].contains(&&Place::Pageable);
        let (link, way) = match direction {
            Direction::HostToDevice => (&copies.host_to_device, super::Direction::HostToDevice),
            Direction::DeviceToHost => (&copies.device_to_host, super::Direction::DeviceToHost),
            Direction::DeviceToDevice => {
                return Queued::free(
                    self.memory_work(SpanKind::DeviceToDevice, bytes, on_device(target)),
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
                    blocked: Some(0),
                    more: 0,
                };
            }
        };
        let target = on_device(target);
        let transfer = |ns, memory| Work::Transfer { direction: way, ns, bytes, memory, target };
        let link_ns = link.pinned_fixed_ns.value + time_of(bytes, link.pinned_bytes_per_us.value);
        if !pageable {
            let blocked = (mode == Mode::Synchronous).then_some(0);
            return Queued {
                work: transfer(link_ns, HostMemory::Pinned),
                cost: host.copy_ns.value,
                blocked,
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
                    blocked: (mode == Mode::Synchronous).then_some(0),
                    more: 0,
                }
            }
            super::Direction::HostToDevice => Queued {
                work: transfer(pieces_ns, HostMemory::Pageable),
                cost: host_ns(chunk),
                blocked: Some(0),
                more: 0,
            },
            #[cfg(not(target_arch = "wasm32"))]
            super::Direction::ToPeer { .. } | super::Direction::FromPeer { .. } => {
                unreachable!("neither is a way between host and device")
            }
            super::Direction::DeviceToHost => Queued {
                work: transfer(pieces_ns, HostMemory::Pageable),
                cost: copies.pageable_call_ns.value,
                blocked: Some(host_ns(chunk)),
                more: 0,
            },
        }
    }

    /// A copy up with the time that it takes longer for what the host's cache has of its source.
    pub(super) fn out_of_cache(&mut self, mut work: Work, source: &Place) -> Work {
        if let Work::Transfer { direction: super::Direction::HostToDevice, ns, .. } = &mut work
            && let Place::Pinned(range) = source
            && !IS_PAGE
        {
            let fresh = self.host_cache.read(*range);
            *ns += fresh.saturating_mul(self.profile.copies.fresh_ns_per_mib.value) / MIB;
        }
        work
    }

    pub(super) fn memset_work(&self, target: Range) -> Work {
        self.memory_work(SpanKind::Memset, target.bytes, target)
    }

    fn memory_work(&self, kind: SpanKind, bytes: u64, target: Range) -> Work {
        let copies = &self.profile.copies;
        let bytes_per_us = match kind {
            SpanKind::Memset => copies.memset_bytes_per_us.value,
            _ => copies.device_bytes_per_us.value,
        };
        let grid = grids::Grid::of_memory(time_of(bytes, bytes_per_us), bytes, &self.profile);
        Work::Memory { kind, grid, bytes, target }
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
        let of = |kind, access: Option<&Access>| {
            access.filter(|it| it.kind == kind).map_or(NOWHERE, |it| it.range)
        };
        let source = of(AccessKind::Read, launch.accesses.first());
        let target = of(AccessKind::Write, launch.accesses.last());
        Some(Work::Kernel { kernel: launch.kernel, grid, source, target })
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
}
