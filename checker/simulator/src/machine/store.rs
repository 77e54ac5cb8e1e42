//! Contents of device memory, and what is on its way to and from it.

use std::collections::BTreeMap;

use super::handles::Address;
use super::provenance::Provenance;
use super::reply::{Failure, code};
use super::{Host, NotMapped, PINNED_BYTES};

/// Contents of device memory, by address. Ranges are checked at the call, against live blocks;
/// freed ones stay until the device is idle, since work that was queued before the free may touch
/// them.
#[derive(Default)]
pub(super) struct Store {
    blocks: BTreeMap<u64, Vec<u8>>,
    freed: Vec<u64>,
    /// Bytes that operations have read or made and not yet written.
    pub(super) in_flight: u64,
    /// Where the values come from that are in there, and in the host's memory.
    pub(super) provenance: Provenance,
}

impl Store {
    /// Adds a block of zeros, unless this machine has no memory left.
    pub(super) fn allocate(&mut self, address: u64, bytes: u64) -> bool {
        let Some(block) = zeros(bytes as usize) else { return false };
        self.blocks.insert(address, block);
        true
    }

    pub(super) fn free(&mut self, address: u64) {
        self.freed.push(address);
    }

    pub(super) fn forget_freed(&mut self) {
        for address in self.freed.drain(..) {
            self.blocks.remove(&address);
        }
    }

    pub(super) fn slice(&self, address: u64, bytes: u64) -> &[u8] {
        let (start, block) =
            self.blocks.range(..=address).next_back().expect("ranges are checked at the call");
        let offset = (address - start) as usize;
        &block[offset..offset + bytes as usize]
    }

    /// Counts `bytes` that an operation holds until it ends.
    pub(super) fn take_along(&mut self, bytes: u64) -> Result<(), Failure> {
        if bytes > MOST_IN_FLIGHT.saturating_sub(self.in_flight) {
            let why = format!(
                "operations that run at the same time move more than {} MiB of data together, which is more \
                 than the simulated device holds beside its memory\n\
                 hint: use smaller blocks, or wait for some of them before the next",
                MOST_IN_FLIGHT >> 20
            );
            return Err(Failure::because(code::OUT_OF_MEMORY, why));
        }
        self.in_flight += bytes;
        Ok(())
    }

    pub(super) fn slice_mut(&mut self, address: u64, bytes: u64) -> &mut [u8] {
        let (start, block) =
            self.blocks.range_mut(..=address).next_back().expect("ranges are checked at the call");
        let offset = (address - start) as usize;
        &mut block[offset..offset + bytes as usize]
    }

    pub(super) fn read(
        &self,
        address: Address,
        bytes: &mut [u8],
        host: &mut dyn Host,
    ) -> Result<(), NotMapped> {
        match address {
            Address::Device(at) => bytes.copy_from_slice(self.slice(at, bytes.len() as u64)),
            Address::Pinned(offset) => host.read_pinned(offset, bytes),
            Address::Pageable(at) => host.read(at, bytes)?,
        }
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        address: Address,
        bytes: &[u8],
        host: &mut dyn Host,
    ) -> Result<(), NotMapped> {
        match address {
            Address::Device(at) => self.slice_mut(at, bytes.len() as u64).copy_from_slice(bytes),
            Address::Pinned(offset) => host.write_pinned(offset, bytes),
            Address::Pageable(at) => host.write(at, bytes)?,
        }
        Ok(())
    }
}

/// So many zeros, which take memory only when they are touched; none if there is no room for them.
fn zeros(bytes: usize) -> Option<Vec<u8>> {
    let layout = std::alloc::Layout::array::<u8>(bytes).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the layout is not empty; what is there is of that layout, and all of it is
    // initialised.
    unsafe {
        let start = std::alloc::alloc_zeroed(layout);
        (!start.is_null()).then(|| Vec::from_raw_parts(start, bytes, bytes))
    }
}

/// The most that all running operations may hold together, in bytes: as much as there is pinned
/// memory. The exercises' own hold a few MiB.
const MOST_IN_FLIGHT: u64 = PINNED_BYTES;
