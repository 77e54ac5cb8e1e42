//! Memory that the program asks for: device memory, out of the pool or not, and page-locked memory.

use trace::program::StreamId;

use super::Machine;
use super::command::{Command, Failure, Reply, code};

/// Page-locked memory that a run can have, in bytes. It is reserved, not used, until it is touched.
pub const PINNED_BYTES: u64 = 1 << 30;

/// Page-locked memory is handed out in whole pages.
pub(super) const PAGE: u64 = 4096;
/// Device addresses start here: far from anything that a process has mapped.
pub const DEVICE_BASE: u64 = 0x0200_0000_0000;
/// Device addresses end here: the machine never hands out this much.
pub const DEVICE_END: u64 = 0x0300_0000_0000;
/// What the blocks of device memory may hold together, in bytes: what a small laptop can spare. On a
/// real device it is the profile's figure, of which a run of the lab's needs a thirty-second part.
const MOST_REAL_BYTES: u64 = 4 << 30;
/// `cuMemAlloc` aligns to at least 256 bytes (CUDA C++ Programming Guide, device memory accesses).
const DEVICE_ALIGNMENT: u64 = 512;

impl Machine {
    pub(super) fn used_bytes(&self) -> u64 {
        self.names.device.spans().map(|(_, bytes)| bytes).sum()
    }

    fn used_nominal_bytes(&self) -> u64 {
        self.names.nominal(self.used_bytes())
    }

    pub(super) fn allocate(&mut self, bytes: u64) -> Result<Reply, Failure> {
        if bytes == 0 {
            return Err(Failure::bare(code::INVALID_VALUE));
        }
        let total = self.device.profile().chip.memory_bytes.value;
        let left = total.saturating_sub(self.used_nominal_bytes()) / u64::from(self.names.scale);
        if bytes > left || bytes > DEVICE_END.saturating_sub(self.device_next) {
            return Err(Failure::bare(code::OUT_OF_MEMORY));
        }
        if bytes > MOST_REAL_BYTES.saturating_sub(self.used_bytes() + self.pool.bytes()) {
            let why = format!(
                "the simulated device holds {} GiB of data at most: use less than a real one could",
                MOST_REAL_BYTES >> 30
            );
            return Err(Failure::because(code::OUT_OF_MEMORY, why));
        }
        let address = self.device_next;
        // A gap between blocks, so that running off the end of one never reaches the next.
        self.device_next += bytes.next_multiple_of(DEVICE_ALIGNMENT) + DEVICE_ALIGNMENT;
        if !self.store.allocate(address, bytes) {
            let why = format!("this machine has no {bytes} bytes left for the simulated device");
            return Err(Failure::because(code::OUT_OF_MEMORY, why));
        }
        Ok(Reply::Number(address))
    }

    /// Stream-ordered memory: out of the pool, if that has some for this stream.
    pub(super) fn allocate_in_order(
        &mut self,
        bytes: u64,
        stream: StreamId,
    ) -> Result<Reply, Failure> {
        let out_of_memory = Failure::bare(code::OUT_OF_MEMORY);
        let bytes = bytes.checked_next_multiple_of(DEVICE_ALIGNMENT).ok_or(out_of_memory)?;
        let device = &self.device;
        let address = match self.pool.take(bytes, stream, |free| device.is_over(free)) {
            Some(address) => address,
            None => match self.allocate(bytes)? {
                Reply::Number(address) => address,
                other => return Ok(other),
            },
        };
        self.in_order.insert(address, bytes);
        Ok(Reply::Number(address))
    }

    /// A call that came back has told the pool something.
    pub(super) fn follow_memory(&mut self, command: &Command) -> Result<(), Failure> {
        let device = &self.device;
        match command {
            Command::FreeAsync { address, stream } if *address != 0 => {
                let stream = self.names.stream(*stream)?;
                // The per-thread streams of other threads have the same name, but not the same order.
                let is_named = stream != StreamId::PER_THREAD || self.threads.running() == 0;
                match (self.in_order.remove(address), device.last_of(stream)) {
                    (Some(bytes), Some(free)) if is_named => {
                        self.pool.put((*address, bytes), stream, free);
                    }
                    // `cuMemAlloc` gave it: it belongs to no pool.
                    _ => self.store.free(*address),
                }
            }
            Command::EventRecord { event, stream } => {
                self.pool.record(*event, self.names.stream(*stream)?);
            }
            Command::StreamWait { stream, event } => {
                self.pool.wait(self.names.stream(*stream)?, *event);
            }
            Command::StreamSynchronize { .. }
            | Command::EventSynchronize { .. }
            | Command::ContextSynchronize => self.release_pool(self.pool.threshold),
            _ => {}
        }
        Ok(())
    }

    /// The pool gives back what it holds beyond so many bytes.
    pub(super) fn release_pool(&mut self, most: u64) {
        let (device, store) = (&self.device, &mut self.store);
        let in_use = self.in_order.values().sum();
        let give_back = |address| store.free(address);
        self.pool.release(most, in_use, |free| device.is_over(free), give_back);
    }

    pub(super) fn allocate_pinned(&self, bytes: u64) -> Result<Reply, Failure> {
        // First fit: the gaps between what is given out, then the rest.
        let mut offset: u64 = 0;
        for (start, taken) in self.names.pinned.spans() {
            if start - offset >= bytes {
                break;
            }
            offset = (start + taken).next_multiple_of(PAGE);
        }
        if offset.checked_add(bytes).is_none_or(|end| end > PINNED_BYTES) {
            return Err(Failure::bare(code::OUT_OF_MEMORY));
        }
        Ok(Reply::Number(offset))
    }
}
