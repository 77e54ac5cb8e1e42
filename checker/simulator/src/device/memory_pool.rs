//! The default pool, which stream-ordered memory comes from: what was freed is handed out again,
//! the pool grows where there is too little, and gives memory back when the host synchronises.
//!
//! Memory freed in a stream is free for that stream at once, since its next use comes after. For
//! another stream it is free as soon as that stream comes after the free, by an event, or as soon
//! as the free has run (CUDA C++ Programming Guide, stream-ordered memory allocator, reuse
//! policies). Memory is a line without gaps: freed blocks are divided and joined as needed, and the
//! pool grows by whole chunks of what is missing. A wait of the host for a stream, an event or the
//! context gives chunks back. Of what was freed before the work that it waited for, these are all
//! that is more than the release threshold and not in use. All of it was measured on an H200
//! (driver 580.159.04, 2026-11-23): an idle stream's synchronisation gave nothing of another
//! stream's back, nor did a query.

use trace::program::{BlockId, Call, DEVICES, EventId, StreamId};

use super::{Device, at, slot};
use crate::machine::PoolFacts;
use crate::profile::Figure;

/// Sizes are rounded up to this, in bytes (H200, driver 580.159.04, 2026-11-23: blocks of 100 to
/// 500 bytes lay so far apart).
const GRANULARITY: u64 = 512;

/// Memory that was freed, and has not been given back.
struct Freed {
    block: BlockId,
    bytes: u64,
    /// No allocation has had a part of it since.
    is_whole: bool,
    stream: StreamId,
    /// How many frees there had been in its stream, with this one.
    count: u64,
    /// The free itself.
    operation: u32,
}

/// How many frees of each stream one comes after.
type After = Vec<(StreamId, u64)>;

/// Work that the host has waited for.
#[derive(Clone, Copy)]
pub(super) enum Waited {
    Stream(StreamId),
    Event(EventId),
    Device(u32),
    /// For all work, to unmap memory, which takes so long, in ns.
    ToUnmap(u64),
}

#[derive(Default)]
pub(super) struct MemoryPool {
    /// Bytes in use, by block; 0 for all other blocks.
    blocks: Vec<u64>,
    freed: Vec<Freed>,
    counts: After,
    /// By stream.
    streams: Vec<(StreamId, After)>,
    /// By event.
    events: Vec<After>,
    facts: PoolFacts,
    /// Freed blocks that can be found whole no more, since they were looked for the last time.
    gone: Vec<BlockId>,
}

impl MemoryPool {
    pub(super) fn keep(&mut self, bytes: u64) {
        self.facts.threshold = bytes;
    }

    pub(super) fn take_gone(&mut self) -> Vec<BlockId> {
        std::mem::take(&mut self.gone)
    }

    /// The freed block that an allocation of so many bytes in this stream would get as a whole. Of
    /// those of its size it is the one that was freed last, which is the likeliest to be in the
    /// caches.
    pub(super) fn whole(
        &self,
        bytes: u64,
        stream: StreamId,
        is_over: impl Fn(u32) -> bool,
    ) -> Option<BlockId> {
        self.find(rounded(bytes), stream, is_over).map(|found| self.freed[found].block)
    }

    fn find(&self, bytes: u64, stream: StreamId, is_over: impl Fn(u32) -> bool) -> Option<usize> {
        let fits =
            |it: &Freed| it.is_whole && it.bytes == bytes && self.is_free(it, stream, &is_over);
        self.freed.iter().rposition(fits)
    }

    fn is_free(&self, freed: &Freed, stream: StreamId, is_over: &impl Fn(u32) -> bool) -> bool {
        let known = of(&self.streams, stream).and_then(|after| of(after, freed.stream));
        freed.stream == stream
            || known.is_some_and(|&known| known >= freed.count)
            || is_over(freed.operation)
    }

    /// A block is allocated in a stream's order. How much the pool grew by for it, in bytes: whole
    /// chunks.
    pub(super) fn allocate(
        &mut self,
        (block, bytes): (BlockId, u64),
        stream: StreamId,
        chunk: u64,
        is_over: impl Fn(u32) -> bool,
    ) -> u64 {
        let bytes = rounded(bytes);
        let others = self.facts.used;
        *slot(&mut self.blocks, block.number()) = bytes;
        self.facts.used = others.saturating_add(bytes);
        self.facts.used_high = self.facts.used_high.max(self.facts.used);
        if let Some(found) = self.find(bytes, stream, &is_over) {
            self.freed.remove(found);
            return 0;
        }
        let freed: u64 = self.freed.iter().map(|it| it.bytes).sum();
        let never_used = self.facts.reserved.saturating_sub(others + freed);
        let mut missing = bytes.saturating_sub(never_used);
        for at in (0..self.freed.len()).rev() {
            if missing == 0 {
                break;
            }
            if self.is_free(&self.freed[at], stream, &is_over) {
                let freed = &mut self.freed[at];
                let taken = freed.bytes.min(missing);
                missing -= taken;
                freed.bytes -= taken;
                if std::mem::take(&mut freed.is_whole) {
                    self.gone.push(freed.block);
                }
            }
        }
        self.freed.retain(|it| it.bytes > 0);
        let grown = missing.div_ceil(chunk.max(1)).saturating_mul(chunk.max(1));
        self.facts.reserved = self.facts.reserved.saturating_add(grown);
        self.facts.reserved_high = self.facts.reserved_high.max(self.facts.reserved);
        grown
    }

    /// A block is freed in a stream's order, by this operation.
    pub(super) fn free(&mut self, block: BlockId, stream: StreamId, operation: u32) {
        // What `cuMemAlloc` gave belongs to no pool.
        let Some(bytes) = self.remove(block) else { return };
        let count = entry(&mut self.counts, stream);
        *count += 1;
        self.freed.push(Freed { block, bytes, is_whole: true, stream, count: *count, operation });
    }

    /// A block is freed by `cuMemFree`, and is free for all at once.
    /// Whether it is the pool's.
    pub(super) fn free_now(&mut self, block: BlockId) -> bool {
        self.remove(block).is_some()
    }

    fn remove(&mut self, block: BlockId) -> Option<u64> {
        let bytes = std::mem::take(slot(&mut self.blocks, block.number()));
        self.facts.used -= bytes;
        (bytes > 0).then_some(bytes)
    }

    pub(super) fn record(&mut self, event: EventId, stream: StreamId) {
        if !self.freed.is_empty() {
            *slot(&mut self.events, event.0) = self.after(stream);
        } else if let Some(before) = self.events.get_mut(event.0 as usize) {
            before.clear();
        }
    }

    /// Work that a stream comes after, its own frees included.
    fn after(&self, stream: StreamId) -> After {
        let mut after = of(&self.streams, stream).cloned().unwrap_or_default();
        if let Some(&count) = of(&self.counts, stream) {
            *entry(&mut after, stream) = count;
        }
        after
    }

    /// A stream waits for what an event stands for.
    pub(super) fn wait(&mut self, stream: StreamId, event: EventId) {
        let Some(recorded) = self.events.get(event.0 as usize) else { return };
        if recorded.is_empty() {
            return;
        }
        let after = entry(&mut self.streams, stream);
        for &(stream, count) in recorded {
            let known = entry(after, stream);
            *known = count.max(*known);
        }
    }

    /// The host has waited. How much the pool gave back, in bytes: whole chunks.
    pub(super) fn settle(
        &mut self,
        waited: Waited,
        chunk: u64,
        is_over: impl Fn(u32) -> bool,
    ) -> u64 {
        let known = match waited {
            Waited::Stream(stream) => Some(self.after(stream)),
            Waited::Event(event) => {
                Some(self.events.get(event.0 as usize).cloned().unwrap_or_default())
            }
            Waited::Device(_) | Waited::ToUnmap(_) => None,
        };
        let is_known = |it: &Freed| {
            known
                .as_ref()
                .is_none_or(|known| of(known, it.stream).is_some_and(|&to| to >= it.count))
        };
        self.give_back(self.facts.threshold, chunk, |it| is_known(it) && is_over(it.operation))
    }

    /// `cuMemPoolTrimTo`: how much was given back, in bytes.
    pub(super) fn trim(&mut self, most: u64, chunk: u64, is_over: impl Fn(u32) -> bool) -> u64 {
        self.give_back(most, chunk, |it| is_over(it.operation))
    }

    fn give_back(&mut self, most: u64, chunk: u64, may_go: impl Fn(&Freed) -> bool) -> u64 {
        if !self.freed.iter().any(&may_go) && most >= self.facts.reserved {
            return 0;
        }
        let held: u64 = self.freed.iter().filter(|it| !may_go(it)).map(|it| it.bytes).sum();
        let chunk = chunk.max(1);
        let kept = (self.facts.used + held).max(most).div_ceil(chunk).saturating_mul(chunk);
        let given_back = self.facts.reserved.saturating_sub(kept);
        self.facts.reserved -= given_back;
        let mut all = self.facts.used + self.freed.iter().map(|it| it.bytes).sum::<u64>();
        let (reserved, gone) = (self.facts.reserved, &mut self.gone);
        self.freed.retain(|it| {
            let goes = all > reserved && may_go(it);
            if goes {
                all -= it.bytes;
                gone.extend(it.is_whole.then_some(it.block));
            }
            !goes
        });
        if self.freed.is_empty() {
            // Nothing is left that could be known.
            (self.counts, self.streams, self.events) = Default::default();
        }
        given_back
    }
}

/// Work that a call waits for, as far as a pool looks at it.
pub(super) fn waited_for(current: u32, call: &Call) -> Option<Waited> {
    match call {
        Call::StreamSynchronize { stream } => Some(Waited::Stream(*stream)),
        Call::EventSynchronize { event } => Some(Waited::Event(*event)),
        Call::ContextSynchronize => Some(Waited::Device(current)),
        _ => None,
    }
}

impl Device {
    /// The freed block that an allocation would get as a whole, if the running thread made it now.
    pub(crate) fn block_for(&mut self, bytes: u64, stream: StreamId) -> Option<BlockId> {
        let call = Call::AllocAsync { block: BlockId(0), bytes, stream };
        let stream = match self.streams.meant(self.hosts.running(), &call) {
            Some(Call::AllocAsync { stream, .. }) => stream,
            _ => stream,
        };
        let pool = &self.units[at(stream.device())].memory_pool;
        pool.whole(bytes, stream, |free| self.has_ended(free))
    }

    /// Freed blocks that no allocation can get as they were any more; each is named once.
    pub(crate) fn gone_blocks(&mut self) -> Vec<BlockId> {
        let mut gone = self.units[0].memory_pool.take_gone();
        for unit in &mut self.units[1..] {
            gone.append(&mut unit.memory_pool.take_gone());
        }
        gone
    }

    pub(crate) fn pool(&self, device: u32) -> &PoolFacts {
        &self.units[at(device)].memory_pool.facts
    }

    /// The pool that a block comes from, if it comes from one.
    pub(super) fn pool_of(&mut self, block: BlockId) -> &mut MemoryPool {
        &mut self.units[at(block.device())].memory_pool
    }

    /// The most that there was is what there is now.
    pub(crate) fn reset_pool_high(&mut self, device: u32, of_reserved: bool) {
        let facts = &mut self.units[at(device)].memory_pool.facts;
        match of_reserved {
            true => facts.reserved_high = facts.reserved,
            false => facts.used_high = facts.used,
        }
    }

    /// Whether a block that has not been freed came from the pool.
    pub(crate) fn is_of_pool(&self, block: BlockId) -> bool {
        let blocks = &self.units[at(block.device())].memory_pool.blocks;
        blocks.get(block.number() as usize).is_some_and(|&bytes| bytes > 0)
    }

    /// Cost of an allocation beside the call, in ns.
    pub(super) fn allocate(&mut self, block: (BlockId, u64), stream: StreamId) -> u64 {
        let chunk = self.profile.chip.pool_chunk_bytes.value;
        let unit = &mut self.units[at(stream.device())];
        let (pool, operations) = (&mut unit.memory_pool, &self.operations);
        let is_over = |free: u32| operations[free].has_ended();
        let grown = pool.allocate(block, stream, chunk, is_over);
        let host = &self.profile.host;
        cost(grown / chunk.max(1), &host.pool_grow_ns, &host.pool_grow_chunk_ns)
    }

    /// Cost of giving memory back to a call that has waited, in ns.
    pub(super) fn give_back(&mut self, waited: Option<Waited>) -> u64 {
        let Some(waited) = waited else { return 0 };
        if let Waited::ToUnmap(ns) = waited {
            return ns;
        }
        let mut ns = 0;
        for device in 0..DEVICES {
            let is_meant = DEVICES == 1
                || match waited {
                    Waited::Stream(stream) => stream.device() == device,
                    Waited::Device(waited) => waited == device,
                    Waited::Event(_) | Waited::ToUnmap(_) => true,
                };
            if is_meant {
                ns += self
                    .given_back(device, |pool, chunk, is_over| pool.settle(waited, chunk, is_over));
            }
        }
        ns
    }

    /// Cost of trimming, in ns.
    pub(super) fn trim(&mut self, most: u64) -> u64 {
        let device = self.current;
        self.given_back(device, |pool, chunk, is_over| pool.trim(most, chunk, is_over))
    }

    fn given_back(
        &mut self,
        device: u32,
        from: impl FnOnce(&mut MemoryPool, u64, &dyn Fn(u32) -> bool) -> u64,
    ) -> u64 {
        let chunk = self.profile.chip.pool_chunk_bytes.value;
        let unit = &mut self.units[at(device)];
        let (pool, operations) = (&mut unit.memory_pool, &self.operations);
        let bytes = from(pool, chunk, &|free| operations[free].has_ended());
        let host = &self.profile.host;
        cost(bytes / chunk.max(1), &host.pool_give_back_ns, &host.pool_give_back_chunk_ns)
    }
}

fn cost(chunks: u64, once: &Figure, each: &Figure) -> u64 {
    if chunks == 0 { 0 } else { once.value + chunks.saturating_mul(each.value) }
}

/// The value of a stream. There are few: a list is enough.
fn of<T>(list: &[(StreamId, T)], stream: StreamId) -> Option<&T> {
    list.iter().find(|(other, _)| *other == stream).map(|(_, value)| value)
}

/// The same, made if there is none.
fn entry<T: Default>(list: &mut Vec<(StreamId, T)>, stream: StreamId) -> &mut T {
    let found = list.iter().position(|(other, _)| *other == stream);
    let at = found.unwrap_or_else(|| {
        list.push((stream, T::default()));
        list.len() - 1
    });
    &mut list[at].1
}

fn rounded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(GRANULARITY).unwrap_or(bytes)
}
