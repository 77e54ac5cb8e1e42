//! Memory that the program allocates: device memory, out of the pool or not, and pinned memory.

use serde::{Deserialize, Serialize};
use trace::program::{BlockId, Call, DEVICES, StreamId};

use super::family::Family;
use super::handles::{Address, Handles, PAGE};
use super::library::Library;
use super::probe;
use super::reply::{Failure, PoolFacts, Reply, code};
use super::{Host, Machine};

/// `cuMem…`, each field as the driver's call has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each stands for the driver call of the same name, field by field")]
pub enum MemoryCommand {
    Alloc {
        bytes: u64,
    },
    AllocAsync {
        bytes: u64,
        stream: u64,
    },
    Free {
        address: u64,
    },
    FreeAsync {
        address: u64,
        stream: u64,
    },
    AllocHost {
        bytes: u64,
    },
    FreeHost {
        offset: u64,
    },
    /// `cuMemGetInfo`.
    Info,
    /// `cuMemPoolGetAttribute` of the default pool: all its numbers.
    PoolFacts,
    /// `cuMemPoolSetAttribute` of the default pool: the most that there was is what there is now,
    /// of what the pool has or of what is in use of it.
    PoolReset {
        of_reserved: bool,
    },
    /// `cuMemPoolSetAttribute` of the default pool: its release threshold.
    PoolKeep {
        bytes: u64,
    },
    /// `cuMemPoolTrimTo` of the default pool.
    PoolTrim {
        bytes: u64,
    },
}

impl Family for MemoryCommand {
    fn reply(&self, machine: &mut Machine, host: &mut dyn Host) -> Result<Reply, Failure> {
        match *self {
            Self::Alloc { bytes } => return machine.allocate(machine.handles.current(), bytes),
            Self::AllocAsync { bytes, stream } => {
                let stream = machine.handles.stream(stream)?;
                return match bytes {
                    0 => Ok(Reply::Number(0)),
                    _ => machine.allocate_in_order(bytes, stream),
                };
            }
            Self::AllocHost { bytes: 0 } => return Ok(Reply::Number(0)),
            Self::AllocHost { bytes } => {
                let offset = machine.allocate_pinned(bytes)?;
                machine.free_block(offset, bytes, host);
                return Ok(Reply::Number(offset));
            }
            Self::Free { address: 0 } | Self::FreeAsync { address: 0, .. } => {}
            Self::Free { address } => {
                let bytes = machine.handles.device.size(address)?;
                if machine.watching.is_some() {
                    let poison = probe::poison(bytes);
                    let _ = machine.store.write(Address::Device(address), &poison, host);
                }
                machine.store.free(address);
            }
            Self::FreeAsync { address, stream } => {
                let bytes = machine.handles.device.size(address)?;
                machine.handles.stream(stream)?;
                let block = machine.handles.device.range(address, 1)?.block;
                machine.free_in_order(address, block, bytes);
            }
            Self::FreeHost { offset } => {
                machine.unguard_block(offset, host);
                if machine.watching.is_some()
                    && let Ok(bytes) = machine.handles.pinned.size(offset)
                {
                    host.write_pinned(offset, &probe::poison(bytes));
                }
            }
            Self::Info => {
                let scale = u64::from(machine.handles.scale);
                let total = machine.device.profile().chip.memory_bytes.value;
                let taken = machine.taken_nominal_bytes(machine.handles.current());
                let free = total.saturating_sub(taken);
                return Ok(Reply::Memory { free: free / scale, total: total / scale });
            }
            Self::PoolFacts => return Ok(Reply::Pool(machine.pool_facts())),
            Self::PoolReset { of_reserved } => {
                machine.device.reset_pool_high(machine.handles.current(), of_reserved);
            }
            Self::PoolKeep { .. } | Self::PoolTrim { .. } => {}
        }
        Ok(Reply::Done)
    }

    fn call(
        &self,
        handles: &mut Handles,
        reply: &Reply,
        _: &dyn Library,
    ) -> Result<Option<Call>, Failure> {
        handles.memory_changes += u64::from(self.is_change());
        Ok(Some(match *self {
            Self::Alloc { bytes } => {
                let block = handles.new_block(handles.current());
                handles.device.0.insert(reply.number()?, (bytes, block));
                Call::Alloc { block, bytes: handles.nominal(bytes) }
            }
            // Nothing is allocated, and its address is 0.
            Self::AllocAsync { bytes: 0, .. } | Self::AllocHost { bytes: 0 } => return Ok(None),
            Self::AllocAsync { bytes, stream } => {
                let stream = handles.stream(stream)?;
                let block = handles.new_block(stream.device());
                handles.device.0.insert(reply.number()?, (bytes, block));
                Call::AllocAsync { block, bytes: handles.nominal(bytes), stream }
            }
            Self::Free { address: 0 } | Self::FreeAsync { address: 0, .. } => return Ok(None),
            Self::Free { address } => Call::Free { block: handles.device.remove(address)? },
            Self::FreeAsync { address, stream } => {
                let stream = handles.stream(stream)?;
                Call::FreeAsync { block: handles.device.remove(address)?, stream }
            }
            Self::AllocHost { bytes } => {
                let block = handles.new_block(0);
                handles.pinned.0.insert(reply.number()?, (bytes, block));
                Call::AllocHost { block, bytes: handles.nominal(bytes) }
            }
            Self::FreeHost { offset } => Call::FreeHost { block: handles.pinned.remove(offset)? },
            Self::PoolKeep { bytes } => Call::PoolKeep { bytes: handles.nominal(bytes) },
            Self::PoolTrim { bytes } => Call::PoolTrim { bytes: handles.nominal(bytes) },
            Self::Info | Self::PoolFacts | Self::PoolReset { .. } => return Ok(None),
        }))
    }

    fn stream(&self) -> Option<u64> {
        match self {
            Self::AllocAsync { stream, .. } | Self::FreeAsync { stream, .. } => Some(*stream),
            _ => None,
        }
    }
}

impl MemoryCommand {
    /// Whether memory is given out or taken back.
    fn is_change(&self) -> bool {
        matches!(
            self,
            Self::Alloc { .. }
                | Self::AllocAsync { .. }
                | Self::AllocHost { .. }
                | Self::Free { .. }
                | Self::FreeAsync { .. }
                | Self::FreeHost { .. }
        )
    }
}

/// Pinned memory that a run can have, in bytes. It is reserved, not used, until it is touched.
pub const PINNED_BYTES: u64 = 1 << 30;

/// Device addresses start here: far from anything that a process has mapped.
pub const DEVICE_BASE: u64 = 0x0200_0000_0000;
/// Device addresses end here: the machine never hands out this much.
pub const DEVICE_END: u64 = 0x0300_0000_0000;
/// The most that the blocks of device memory may hold together, in bytes: as much as a small laptop
/// can spare. On a real device it is the profile's figure, of which a run of the lab's needs a
/// thirty-second part.
const MOST_REAL_BYTES: u64 = 4 << 30;
/// `cuMemAlloc` aligns to at least 256 bytes (CUDA C++ Programming Guide, device memory accesses).
const DEVICE_ALIGNMENT: u64 = 512;

/// How many addresses each device has.
const ADDRESSES: u64 = (DEVICE_END - DEVICE_BASE) / DEVICES as u64;

/// Where the addresses of a device start.
pub(super) fn addresses_of(device: u32) -> u64 {
    DEVICE_BASE + u64::from(device) * ADDRESSES
}

impl Machine {
    pub(super) fn used_bytes(&self) -> u64 {
        self.handles.device.spans().map(|(_, bytes)| bytes).sum()
    }

    /// With what the pool has beside what is in use of it.
    pub(super) fn taken_nominal_bytes(&self, device: u32) -> u64 {
        let pool = self.device.pool(device);
        self.handles.nominal(self.handles.device.bytes_on(device))
            + pool.reserved.saturating_sub(pool.used)
    }

    pub(super) fn allocate(&mut self, device: u32, bytes: u64) -> Result<Reply, Failure> {
        if bytes == 0 {
            return Err(Failure::bare(code::INVALID_VALUE));
        }
        let total = self.device.profile().chip.memory_bytes.value;
        let left =
            total.saturating_sub(self.taken_nominal_bytes(device)) / u64::from(self.handles.scale);
        let next = self.device_next[device as usize];
        if bytes > left || bytes > (addresses_of(device) + ADDRESSES).saturating_sub(next) {
            return Err(Failure::bare(code::OUT_OF_MEMORY));
        }
        let freed: u64 = self.freed.values().map(|(_, bytes)| bytes).sum();
        if bytes > MOST_REAL_BYTES.saturating_sub(self.used_bytes() + freed) {
            let why = format!(
                "the simulated device holds {} GiB of data at most: use less than a real one could",
                MOST_REAL_BYTES >> 30
            );
            return Err(Failure::because(code::OUT_OF_MEMORY, why));
        }
        let address = next;
        // A gap between blocks, so that running off the end of one never reaches the next.
        self.device_next[device as usize] +=
            bytes.next_multiple_of(DEVICE_ALIGNMENT) + DEVICE_ALIGNMENT;
        if !self.store.allocate(address, bytes) {
            let why = format!("this machine has no {bytes} bytes left for the simulated device");
            return Err(Failure::because(code::OUT_OF_MEMORY, why));
        }
        Ok(Reply::Number(address))
    }

    /// Stream-ordered memory: what was freed, if there is some of this size for this stream.
    pub(super) fn allocate_in_order(
        &mut self,
        bytes: u64,
        stream: StreamId,
    ) -> Result<Reply, Failure> {
        let given = self.device.block_for(self.handles.nominal(bytes), stream);
        let address = match given.and_then(|block| self.freed.remove(&block)) {
            Some((address, room)) if bytes <= room => address,
            _ => return self.allocate(stream.device(), bytes),
        };
        Ok(Reply::Number(address))
    }

    /// Memory that is freed in a stream's order keeps what it holds until the pool gives it back or
    /// divides it.
    pub(super) fn free_in_order(&mut self, address: u64, block: BlockId, bytes: u64) {
        if self.device.is_of_pool(block) {
            self.freed.insert(block, (address, bytes));
        } else {
            // `cuMemAlloc` gave it: it belongs to no pool.
            self.store.free(address);
        }
    }

    /// Forgets blocks that the pool has given back or divided since.
    pub(super) fn follow_pool(&mut self) {
        for block in self.device.gone_blocks() {
            if let Some((address, _)) = self.freed.remove(&block) {
                self.store.free(address);
            }
        }
    }

    /// As the program sees it.
    pub(super) fn pool_facts(&self) -> PoolFacts {
        let scale = u64::from(self.handles.scale);
        let real = |bytes: u64| if bytes == u64::MAX { bytes } else { bytes / scale };
        let pool = self.device.pool(self.handles.current());
        PoolFacts {
            threshold: real(pool.threshold),
            reserved: real(pool.reserved),
            reserved_high: real(pool.reserved_high),
            used: real(pool.used),
            used_high: real(pool.used_high),
        }
    }

    pub(super) fn allocate_pinned(&self, bytes: u64) -> Result<u64, Failure> {
        // First fit: the gaps between what is given out, then the rest.
        let mut offset: u64 = 0;
        for (start, taken) in self.handles.pinned.spans() {
            if start - offset >= bytes {
                break;
            }
            offset = (start + taken).next_multiple_of(PAGE);
        }
        if offset.checked_add(bytes).is_none_or(|end| end > PINNED_BYTES) {
            return Err(Failure::bare(code::OUT_OF_MEMORY));
        }
        Ok(offset)
    }
}
