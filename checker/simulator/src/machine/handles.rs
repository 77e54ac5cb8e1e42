//! Handles: what the driver's caller holds, handles and addresses, and the numbers that the
//! [`Program`](trace::Program) knows it by.
//!
//! Both arms use it: the simulator gives out handles of its own, a GPU gives its own, and the same
//! commands become the same calls.

use std::collections::{BTreeMap, BTreeSet};

use trace::program::{
    Access, AccessKind, BlockId, Call, DEVICES, EventId, KernelId, Launch, Place, Range, StreamId,
    StreamKind, Timing,
};

use super::command::{Address, Command, Failure, Reply, code};
use super::library::{KernelAccess, Library};
use super::memory::PAGE;

/// Handles of one kind.
pub(super) struct Table<Id, Facts> {
    entries: BTreeMap<u64, (Id, Facts)>,
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

    fn add(&mut self, device: u32, handle: u64, facts: Facts) -> Id {
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

    fn remove(&mut self, handle: u64) -> Result<Id, Failure> {
        let (id, _) = self.entries.remove(&handle).ok_or_else(|| self.missing(handle))?;
        if self.destroyed.1 != code::INVALID_HANDLE {
            self.destroyed.0.insert(handle);
        }
        Ok(id)
    }
}

/// Blocks of memory of one kind, by address.
#[derive(Default)]
pub(super) struct Blocks(BTreeMap<u64, (u64, BlockId)>);

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

    fn remove(&mut self, address: u64) -> Result<BlockId, Failure> {
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
    functions_of: BTreeMap<u64, Vec<u64>>,
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

    fn nominal_range(&self, range: Range) -> Range {
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

    fn new_block(&mut self, device: u32) -> BlockId {
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
    fn belongs(&mut self, handle: u64) {
        if self.current > 0 {
            self.devices.insert(handle, self.current);
        } else if self.are_several {
            self.devices.remove(&handle);
        }
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

    /// The call that a command makes, given what the device answers or is about to answer to it:
    /// new handles and addresses get their numbers, old ones lose theirs. None for commands that
    /// neither take time nor order anything.
    pub fn call(
        &mut self,
        command: &Command,
        reply: &Reply,
        library: &dyn Library,
    ) -> Result<Option<Call>, Failure> {
        let changes_memory = matches!(
            command,
            Command::Alloc { .. }
                | Command::AllocAsync { .. }
                | Command::AllocHost { .. }
                | Command::Free { .. }
                | Command::FreeAsync { .. }
                | Command::FreeHost { .. }
        );
        self.memory_changes += u64::from(changes_memory);
        let number = || match reply {
            Reply::Number(number) => Ok(*number),
            Reply::Entry { function, .. } => Ok(*function),
            _ => Err(Failure::bare(code::UNKNOWN)),
        };
        Ok(Some(match command {
            Command::Connections(queues) => return Ok(queues.call()),
            Command::StreamCreate { kind, priority } => {
                let stream = self.streams.add(self.current, number()?, (*kind, *priority));
                Call::StreamCreate { stream, kind: *kind, priority: *priority }
            }
            Command::StreamDestroy { stream } => {
                Call::StreamDestroy { stream: self.streams.remove(*stream)? }
            }
            Command::StreamSynchronize { stream } => {
                Call::StreamSynchronize { stream: self.stream(*stream)? }
            }
            Command::StreamQuery { stream } => Call::StreamQuery { stream: self.stream(*stream)? },
            Command::StreamWait { stream, event } => {
                Call::StreamWait { stream: self.stream(*stream)?, event: self.events.find(*event)? }
            }
            Command::ContextSynchronize => Call::ContextSynchronize,

            Command::EventCreate { timing } => {
                let event = self.events.add(0, number()?, (*timing, false));
                self.belongs(number()?);
                Call::EventCreate { event, timing: *timing }
            }
            Command::EventDestroy { event } => {
                Call::EventDestroy { event: self.events.remove(*event)? }
            }
            Command::EventRecord { event, stream } => {
                let call = Call::EventRecord {
                    event: self.events.find(*event)?,
                    stream: self.stream(*stream)?,
                };
                if let Some((_, (_, recorded))) = self.events.entries.get_mut(event) {
                    *recorded = true;
                }
                call
            }
            Command::EventSynchronize { event } => {
                Call::EventSynchronize { event: self.events.find(*event)? }
            }
            Command::EventQuery { event } => Call::EventQuery { event: self.events.find(*event)? },
            Command::EventElapsed { start, end } => Call::EventElapsed {
                start: self.events.find(*start)?,
                end: self.events.find(*end)?,
            },

            Command::Alloc { bytes } => {
                let block = self.new_block(self.current);
                self.device.0.insert(number()?, (*bytes, block));
                Call::Alloc { block, bytes: self.nominal(*bytes) }
            }
            // Nothing is allocated, and its address is 0.
            Command::AllocAsync { bytes: 0, .. } | Command::AllocHost { bytes: 0 } => {
                return Ok(None);
            }
            Command::AllocAsync { bytes, stream } => {
                let stream = self.stream(*stream)?;
                let block = self.new_block(stream.device());
                self.device.0.insert(number()?, (*bytes, block));
                Call::AllocAsync { block, bytes: self.nominal(*bytes), stream }
            }
            Command::Free { address: 0 } | Command::FreeAsync { address: 0, .. } => {
                return Ok(None);
            }
            Command::Free { address } => Call::Free { block: self.device.remove(*address)? },
            Command::FreeAsync { address, stream } => {
                let stream = self.stream(*stream)?;
                Call::FreeAsync { block: self.device.remove(*address)?, stream }
            }
            Command::PoolKeep { bytes } => Call::PoolKeep { bytes: self.nominal(*bytes) },
            Command::PoolTrim { bytes } => Call::PoolTrim { bytes: self.nominal(*bytes) },
            Command::AllocHost { bytes } => {
                let block = self.new_block(0);
                self.pinned.0.insert(number()?, (*bytes, block));
                Call::AllocHost { block, bytes: self.nominal(*bytes) }
            }
            Command::FreeHost { offset } => Call::FreeHost { block: self.pinned.remove(*offset)? },

            Command::Copy { bytes: 0, .. } | Command::PeerCopy { bytes: 0, .. } => return Ok(None),
            Command::PeerAccess { by, pool, enabled } => {
                Call::PeerAccess { by: *by, pool: *pool, enabled: *enabled }
            }
            Command::Copy { stream, mode, source, target, bytes }
            | Command::PeerCopy { stream, mode, source, target, bytes } => Call::Copy {
                stream: self.stream(*stream)?,
                mode: *mode,
                source: self.place(*source, *bytes)?,
                target: self.place(*target, *bytes)?,
                bytes: self.nominal(*bytes),
            },
            Command::Memset { count: 0, .. } => return Ok(None),
            Command::Memset { stream, mode, target, width, count, .. } => {
                let bytes = count.checked_mul(u64::from(*width));
                let bytes = bytes.ok_or(Failure::bare(code::INVALID_VALUE))?;
                let range = self.device.range(*target, bytes)?;
                let stream = self.stream(*stream)?;
                Call::Memset { stream, mode: *mode, target: self.nominal_range(range) }
            }

            Command::ModuleLoad { entries } => {
                self.modules.add(0, number()?, entries.clone());
                self.belongs(number()?);
                Call::ModuleLoad
            }
            Command::ModuleUnload { module } => {
                self.modules.remove(*module)?;
                for function in self.functions_of.remove(module).unwrap_or_default() {
                    self.functions.entries.remove(&function);
                }
                Call::ModuleUnload
            }
            Command::FunctionGet { module, name } => {
                let function = number()?;
                let kernel = self.functions.add(0, function, name.clone());
                let device = self.device_of(*module);
                if device > 0 {
                    self.devices.insert(function, device);
                }
                self.functions_of.entry(*module).or_default().push(function);
                let known = library.kernel(name);
                let known = known.as_deref();
                Call::FunctionGet {
                    kernel,
                    name: name.clone(),
                    rate: known.map_or_else(String::new, |known| known.rate().to_owned()),
                    registers: known.map_or(0, |known| known.registers()),
                    shared_bytes: known.map_or(0, |known| known.shared_bytes()),
                    items: known.and_then(|known| known.items()),
                    inner_loop: known.and_then(|known| known.inner_loop()),
                }
            }
            Command::Launch { .. } => Call::Launch(self.launch(command, library, false)?),
            Command::HostFunction { stream, .. } => {
                Call::HostFunction { stream: self.stream(*stream)?, accesses: Vec::new() }
            }
            // The machine makes their calls: it knows what was captured.
            Command::Graph(_)
            | Command::Site(_)
            | Command::PinnedBase { .. }
            | Command::HostAccess { .. }
            | Command::HostUse { .. }
            | Command::Lab(_)
            | Command::Resume
            | Command::DeviceFacts
            | Command::StreamFacts { .. }
            | Command::MemoryInfo
            | Command::PoolFacts
            | Command::PoolReset { .. }
            | Command::FunctionFacts { .. }
            | Command::FunctionAllow { .. } => return Ok(None),
        }))
    }

    fn place(&self, address: Address, bytes: u64) -> Result<Place, Failure> {
        Ok(match address {
            Address::Device(at) => Place::Device(self.nominal_range(self.device.range(at, bytes)?)),
            Address::Pinned(at) => Place::Pinned(self.nominal_range(self.pinned.range(at, bytes)?)),
            Address::Pageable(_) => Place::Pageable,
        })
    }

    /// The memory that a captured operation uses if it runs now, reads first; none where some of it
    /// is not there.
    pub(super) fn uses(&self, command: &Command, library: &dyn Library) -> Option<Vec<Access>> {
        let access = |kind, range: Range| Access { kind, range };
        match command {
            Command::Launch { .. } => Some(self.launch(command, library, false).ok()?.accesses),
            Command::Copy { source, target, bytes, .. } => {
                let ends = [(AccessKind::Read, source), (AccessKind::Write, target)];
                let mut uses = Vec::new();
                for (kind, end) in ends {
                    match self.place(*end, *bytes).ok()? {
                        Place::Device(range) | Place::Pinned(range) => {
                            uses.push(access(kind, range));
                        }
                        Place::Pageable => {}
                    }
                }
                Some(uses)
            }
            Command::Memset { target, width, count, .. } => {
                let bytes = count.checked_mul(u64::from(*width))?;
                let range = self.nominal_range(self.device.range(*target, bytes).ok()?);
                Some(vec![access(AccessKind::Write, range)])
            }
            _ => None,
        }
    }

    /// The call that a launch makes although its kernel touches memory that is not there: that much
    /// is left out.
    pub(super) fn faulty_launch(
        &self,
        command: &Command,
        library: &dyn Library,
    ) -> Result<Call, Failure> {
        self.launch(command, library, true).map(Call::Launch)
    }

    fn launch(
        &self,
        command: &Command,
        library: &dyn Library,
        may_fault: bool,
    ) -> Result<Launch, Failure> {
        let Command::Launch { function, grid, block, shared_bytes, stream, arguments } = command
        else {
            unreachable!("only launches are named here")
        };
        let mut launch = Launch {
            stream: self.stream(*stream)?,
            kernel: self.functions.find(*function)?,
            grid: *grid,
            block: *block,
            shared_bytes: *shared_bytes,
            units: 0,
            bytes: 0,
            accesses: Vec::new(),
        };
        let Some(known) = library.kernel(self.functions.facts(*function)?) else {
            return Ok(launch);
        };
        let missing = || Failure::bare(code::INVALID_VALUE);
        let work = known.work(arguments, self.scale).ok_or_else(missing)?;
        launch.units = self.nominal(work.units);
        launch.bytes = self.nominal(work.bytes);
        for access in known.accesses(arguments, self.scale).ok_or_else(missing)? {
            match self.touched(&access, *function) {
                Ok(Some(range)) => launch.accesses.push(Access { kind: access.kind, range }),
                Err(failure) if !may_fault => return Err(failure),
                Ok(None) | Err(_) => {}
            }
        }
        Ok(launch)
    }

    /// The memory that an access of a kernel touches; none if it touches nothing.
    pub(super) fn touched(
        &self,
        access: &KernelAccess,
        function: u64,
    ) -> Result<Option<Range>, Failure> {
        let &KernelAccess { kind, address, bytes } = access;
        if bytes == 0 {
            return Ok(None);
        }
        let range = self.device.range(address, bytes).map_err(|_| {
            let name = self.functions.facts(function).map_or("", String::as_str);
            let does = if kind == AccessKind::Read { "reads" } else { "writes" };
            let why = format!(
                "kernel `{name}` {does} {bytes} bytes at {address:#x}, which are not in live device memory"
            );
            Failure::because(code::ILLEGAL_ADDRESS, why)
        })?;
        Ok(Some(self.nominal_range(range)))
    }
}
