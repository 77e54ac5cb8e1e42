//! Handles and addresses that the driver's caller holds, and the numbers that the
//! [`Program`](trace::Program) knows them by.
//!
//! Both arms use it: the simulator gives out handles of its own, a GPU gives its own, and the same
//! commands become the same calls.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trace::program::{
    BlockId, Call, DEVICES, EventId, KernelId, Range, StreamId, StreamKind, Timing,
};

use super::library::Library;
use super::reply::{Failure, code};

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// A device address.
    Device(u64),
    /// Pinned memory, by its offset in the memory that both sides map.
    Pinned(u64),
    /// Pageable memory, by its address in the student's process.
    Pageable(u64),
}

/// Pinned memory is handed out in whole pages.
pub(super) const PAGE: u64 = 4096;

/// Handles of one kind.
pub(super) struct Table<Id, Facts> {
    pub(super) entries: BTreeMap<u64, (Id, Facts)>,
    /// Of each device.
    count: [u32; DEVICES as usize],
    id: fn(u32, u32) -> Id,
    /// Handles that were destroyed, and the code that these get; it differs from that of a handle
    /// that was never given for events alone (measured).
    destroyed: (BTreeSet<u64>, u32),
}

impl<Id: Copy, Facts> Table<Id, Facts> {
    fn new(first: u32, id: fn(u32, u32) -> Id) -> Self {
        let destroyed = (BTreeSet::new(), code::INVALID_HANDLE);
        let count = [first; DEVICES as usize];
        Self { entries: BTreeMap::new(), count, id, destroyed }
    }

    /// Why there is no such handle.
    fn missing(&self, handle: u64) -> Failure {
        let (destroyed, code) = &self.destroyed;
        Failure::bare(if destroyed.contains(&handle) { *code } else { code::INVALID_HANDLE })
    }

    pub(super) fn add(&mut self, device: u32, handle: u64, facts: Facts) -> Id {
        let count = &mut self.count[device as usize];
        let id = (self.id)(device, *count);
        *count += 1;
        self.entries.insert(handle, (id, facts));
        self.destroyed.0.remove(&handle);
        id
    }

    pub(super) fn find(&self, handle: u64) -> Result<Id, Failure> {
        self.entries.get(&handle).map(|entry| entry.0).ok_or_else(|| self.missing(handle))
    }

    pub(super) fn facts(&self, handle: u64) -> Result<&Facts, Failure> {
        self.entries.get(&handle).map(|entry| &entry.1).ok_or_else(|| self.missing(handle))
    }

    pub(super) fn remove(&mut self, handle: u64) -> Result<Id, Failure> {
        let (id, _) = self.entries.remove(&handle).ok_or_else(|| self.missing(handle))?;
        if self.destroyed.1 != code::INVALID_HANDLE {
            self.destroyed.0.insert(handle);
        }
        Ok(id)
    }
}

/// Blocks of memory of one kind, by address.
#[derive(Default)]
pub(super) struct Blocks(pub(super) BTreeMap<u64, (u64, BlockId)>);

impl Blocks {
    /// The part of a live block that `bytes` at `address` are.
    pub(super) fn range(&self, address: u64, bytes: u64) -> Result<Range, Failure> {
        let found = self.0.range(..=address).next_back();
        let fits = found.filter(|(start, (size, _))| {
            (address - *start).checked_add(bytes).is_some_and(|end| end <= *size)
        });
        let (start, (_, block)) = fits.ok_or(Failure::bare(code::INVALID_VALUE))?;
        Ok(Range { block: *block, offset: address - start, bytes })
    }

    /// Whether `address` is in a live block.
    pub(super) fn holds(&self, address: u64) -> bool {
        self.range(address, 1).is_ok()
    }

    /// Size of the block that starts at `address`.
    pub(super) fn size(&self, address: u64) -> Result<u64, Failure> {
        self.0.get(&address).map(|block| block.0).ok_or(Failure::bare(code::INVALID_VALUE))
    }

    /// The whole pages of `bytes` at `address`: from first to end. A block has its last page to
    /// itself.
    pub(super) fn whole_pages(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        let (start, (size, _)) = self.0.range(..=address).next_back()?;
        let end = address.checked_add(bytes).filter(|&end| end <= start + size)?;
        let first = address.next_multiple_of(PAGE);
        let end = if end == start + size { end.next_multiple_of(PAGE) } else { end / PAGE * PAGE };
        (first < end).then_some((first, end))
    }

    /// How many bytes the live blocks of a device hold.
    pub(super) fn bytes_on(&self, device: u32) -> u64 {
        let blocks = self.0.values().filter(|(_, block)| block.device() == device);
        blocks.map(|(size, _)| *size).sum()
    }

    /// Starts and sizes of the live blocks, in order.
    pub(super) fn spans(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(&start, &(size, _))| (start, size))
    }

    pub(super) fn remove(&mut self, address: u64) -> Result<BlockId, Failure> {
        self.0.remove(&address).map(|block| block.1).ok_or(Failure::bare(code::INVALID_VALUE))
    }
}

/// Everything that one run has names for.
pub struct Handles {
    pub(super) scale: u32,
    /// The device whose context is current as the next call is made.
    current: u32,
    /// The device of each event, module and function that is not on the first.
    devices: BTreeMap<u64, u32>,
    /// The device with which pinned memory was allocated, where it is not the first.
    pinned_on: BTreeMap<BlockId, u32>,
    /// Whether another device than the first was ever current.
    are_several: bool,
    pub(super) streams: Table<StreamId, (StreamKind, i32)>,
    /// Whether the event keeps time, and whether it was ever recorded.
    pub(super) events: Table<EventId, (Timing, bool)>,
    /// The entries of each module.
    pub(super) modules: Table<(), Vec<String>>,
    /// The name of each function.
    pub(super) functions: Table<KernelId, String>,
    /// The functions of each module, which go with it.
    pub(super) functions_of: BTreeMap<u64, Vec<u64>>,
    /// Device memory, by device address.
    pub(super) device: Blocks,
    /// Pinned memory, by what [`Address::Pinned`] holds.
    pub(super) pinned: Blocks,
    /// How many blocks there are of each device.
    blocks: [u32; DEVICES as usize],
    /// How often memory was given out or taken back.
    pub(super) memory_changes: u64,
}

impl Default for Handles {
    fn default() -> Self {
        Self {
            scale: 1,
            current: 0,
            devices: BTreeMap::new(),
            pinned_on: BTreeMap::new(),
            are_several: false,
            streams: Table::new(StreamId::FIRST_CREATED, StreamId::on),
            events: Table {
                destroyed: (BTreeSet::new(), code::CONTEXT_IS_DESTROYED),
                ..Table::new(0, |_, number| EventId(number))
            },
            modules: Table::new(0, |_, _| ()),
            functions: Table::new(0, |_, number| KernelId(number)),
            functions_of: BTreeMap::new(),
            device: Blocks::default(),
            pinned: Blocks::default(),
            blocks: [0; DEVICES as usize],
            memory_changes: 0,
        }
    }
}

/// `CU_STREAM_LEGACY`.
const LEGACY: u64 = 1;
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: u64 = 2;

impl Handles {
    /// Whether pinned memory that was given out holds this address.
    pub fn is_pinned(&self, address: u64) -> bool {
        self.pinned.holds(address)
    }

    /// Whether device memory that was given out holds this address.
    pub fn is_device(&self, address: u64) -> bool {
        self.device.holds(address)
    }

    /// Whether any memory is given out.
    pub fn has_memory(&self) -> bool {
        !self.device.0.is_empty() || !self.pinned.0.is_empty()
    }

    /// Sizes of the arguments of a function, in bytes; none for a kernel that the library lacks.
    pub fn parameter_sizes(&self, function: u64, library: &dyn Library) -> Option<Vec<u8>> {
        let name = self.functions.facts(function).ok()?;
        library.kernel(name).map(|kernel| kernel.parameter_sizes())
    }

    /// Nominal bytes for bytes in memory.
    pub(super) fn nominal(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(u64::from(self.scale))
    }

    pub(super) fn nominal_range(&self, range: Range) -> Range {
        Range {
            block: range.block,
            offset: self.nominal(range.offset),
            bytes: self.nominal(range.bytes),
        }
    }

    /// A stream by its handle.
    pub fn stream(&self, handle: u64) -> Result<StreamId, Failure> {
        match handle {
            0 | LEGACY => Ok(StreamId::on(self.current, StreamId::LEGACY.0)),
            PER_THREAD => Ok(StreamId::on(self.current, StreamId::PER_THREAD.0)),
            created => self.streams.find(created),
        }
    }

    pub(super) fn stream_facts(&self, handle: u64) -> Result<(StreamKind, i32), Failure> {
        match handle {
            0 | LEGACY | PER_THREAD => Ok((StreamKind::Blocking, 0)),
            created => self.streams.facts(created).copied(),
        }
    }

    /// The parts of blocks of pinned memory that lie in some pages.
    pub fn pinned_within(&self, offset: u64, bytes: u64) -> Vec<Range> {
        let end = offset.saturating_add(bytes);
        let before = self.pinned.0.range(..=offset).next_back().map_or(offset, |(start, _)| *start);
        let mut parts = Vec::new();
        for (&start, &(size, block)) in self.pinned.0.range(before..end) {
            let (from, to) = (start.max(offset), (start + size).min(end));
            if from < to {
                let range = Range { block, offset: from - start, bytes: to - from };
                parts.push(self.nominal_range(range));
            }
        }
        parts
    }

    /// The kind of a stream that was created and is still there.
    pub(super) fn kind(&self, stream: StreamId) -> Option<StreamKind> {
        let mut streams = self.streams.entries.values();
        streams.find_map(|(id, (kind, _))| (*id == stream).then_some(*kind))
    }

    /// Where a range of a live block is, and how many bytes it has in memory.
    pub(super) fn place_of(&self, range: Range) -> Option<(Address, u64)> {
        let scale = u64::from(self.scale);
        let (offset, bytes) = (range.offset / scale, range.bytes / scale);
        let find = |blocks: &Blocks| {
            let mut starts = blocks.0.iter();
            starts.find_map(|(&start, &(size, block))| {
                let fits = offset.checked_add(bytes).is_some_and(|end| end <= size);
                (block == range.block && fits).then_some(start + offset)
            })
        };
        let address = match find(&self.device) {
            Some(at) => Address::Device(at),
            None => Address::Pinned(find(&self.pinned)?),
        };
        (bytes > 0).then_some((address, bytes))
    }

    pub(super) fn new_block(&mut self, device: u32) -> BlockId {
        let blocks = &mut self.blocks[device as usize];
        *blocks += 1;
        BlockId::on(device, *blocks - 1)
    }

    /// Another device's context may be current from now on.
    pub fn set_current(&mut self, device: u32) {
        self.current = device.min(DEVICES - 1);
        self.are_several |= self.current > 0;
    }

    /// Whether the second device can have no more streams.
    pub(super) fn has_no_streams_left(&self) -> bool {
        self.current > 0
            && self.streams.count[self.current as usize] >= crate::device::OF_THREADS_ON_SECOND
    }

    /// The device whose context is current.
    pub(super) fn current(&self) -> u32 {
        self.current
    }

    /// Whether another device than the first was ever current.
    pub(super) fn are_several(&self) -> bool {
        self.are_several
    }

    /// Gives a handle that is created to the device whose context is current.
    pub(super) fn belongs(&mut self, handle: u64) {
        if self.current > 0 {
            self.devices.insert(handle, self.current);
        } else if self.are_several {
            self.devices.remove(&handle);
        }
    }

    /// A function of a module, which goes with it.
    pub(super) fn add_function(&mut self, module: u64, function: u64, name: &str) -> KernelId {
        let kernel = self.functions.add(0, function, name.to_owned());
        let device = self.device_of(module);
        if device > 0 {
            self.devices.insert(function, device);
        }
        self.functions_of.entry(module).or_default().push(function);
        kernel
    }

    /// The device of an event, a module or a function.
    pub(super) fn device_of(&self, handle: u64) -> u32 {
        self.devices.get(&handle).copied().unwrap_or(0)
    }

    /// The [`Step::device`](trace::program::Step) of a call.
    pub fn device_of_call(&mut self, call: &Call) -> u32 {
        match call {
            _ if !self.are_several => 0,
            Call::AllocHost { block, .. } => {
                self.pinned_on.insert(*block, self.current);
                self.current
            }
            Call::FreeHost { block } => self.pinned_on.remove(block).unwrap_or(0),
            Call::ContextSynchronize
            | Call::ModuleLoad
            | Call::PoolKeep { .. }
            | Call::PoolTrim { .. } => self.current,
            _ => 0,
        }
    }
}
