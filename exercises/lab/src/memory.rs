//! Host memory, pinned or pageable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, HostSlice, PinnedHostSlice, SyncOnDrop,
};
use trace::lab_protocol::{Buffer, Request};
use trace::program::AccessKind;

use crate::{Result, driver};

/// Which kind of host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostMemory {
    /// Pageable memory, as `Vec` has it.
    #[default]
    Pageable,
    /// Pinned memory, which a copy engine reads and writes by itself.
    Pinned,
}

/// A block of 32-bit words in host memory. Copies take it as they take a `Vec` or cudarc's
/// `PinnedHostSlice`, which is what it is.
pub struct HostBlock {
    kind: Kind,
    /// Where pinned memory goes that is no longer needed; none where it is freed.
    reserve: Option<Reserve>,
}

enum Kind {
    Pageable(Vec<u32>),
    Pinned(PinnedHostSlice<u32>),
}

impl HostBlock {
    /// A block of `elements` words.
    pub fn new(context: &Arc<CudaContext>, memory: HostMemory, elements: usize) -> Result<Self> {
        let kind = match memory {
            HostMemory::Pageable => return Ok(Self::pageable(elements)),
            HostMemory::Pinned => {
                // Flags 0: the default of cudarc is write-combined memory, which is slow to read.
                // SAFETY: the lab writes every word before the host reads any.
                let words = unsafe { context.alloc_pinned_with_flags(elements, 0)? };
                Kind::Pinned(words)
            }
        };
        Ok(Self { kind, reserve: None })
    }

    /// A block of `elements` words in pageable memory.
    pub fn pageable(elements: usize) -> Self {
        Self { kind: Kind::Pageable(vec![0; elements]), reserve: None }
    }

    /// The same words in pinned memory of their own: `cuMemHostAlloc`, and a copy by the host. It
    /// is what `pin_memory()` does in PyTorch, and takes as long.
    pub fn pin(&self, context: &Arc<CudaContext>) -> Result<Self> {
        let mut pinned = Self::new(context, HostMemory::Pinned, self.len())?;
        let (from, to) = (self.words()?, pinned.words_mut()?);
        to.copy_from_slice(from);
        let (source, target) = (from.as_ptr() as u64, to.as_ptr() as u64);
        driver::ask(&Request::HostCopy { source, target, bytes: from.len() as u64 * 4 })?;
        Ok(pinned)
    }

    /// Which kind of memory it is in.
    pub fn memory(&self) -> HostMemory {
        match self.kind {
            Kind::Pageable(_) => HostMemory::Pageable,
            Kind::Pinned(_) => HostMemory::Pinned,
        }
    }

    /// The words. The caller makes sure that no copy still writes them.
    pub fn words(&self) -> Result<&[u32]> {
        Ok(match &self.kind {
            Kind::Pageable(words) => words,
            Kind::Pinned(words) => {
                let words = words.as_slice()?;
                at_hand(words, AccessKind::Read)?;
                words
            }
        })
    }

    /// The words, to be written. The caller makes sure that no copy still reads or writes them.
    pub fn words_mut(&mut self) -> Result<&mut [u32]> {
        Ok(match &mut self.kind {
            Kind::Pageable(words) => words,
            Kind::Pinned(words) => {
                let words = words.as_mut_slice()?;
                at_hand(words, AccessKind::Write)?;
                words
            }
        })
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        HostSlice::len(self)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its description for the region, where it holds `array` from element `first` on.
    pub(crate) fn buffer(&self, array: u32, first: usize) -> Result<Buffer> {
        let bytes = self.len() as u64 * 4;
        Ok(Buffer { array, first: first as u64, address: self.address()?, bytes })
    }

    pub(crate) fn address(&self) -> Result<u64> {
        Ok(match &self.kind {
            Kind::Pageable(words) => words.as_ptr() as u64,
            Kind::Pinned(words) => words.as_ptr()? as u64,
        })
    }
}

/// The description for the region of device memory that holds `array` from element `first` on.
pub(crate) fn device_buffer(array: u32, first: usize, data: &CudaSlice<u32>) -> Buffer {
    let (address, _) = data.device_ptr(data.stream());
    Buffer { array, first: first as u64, address, bytes: data.len() as u64 * 4 }
}

/// Reports that the host accesses pinned memory: a GPU's driver has no other way to know.
fn at_hand(words: &[u32], kind: AccessKind) -> Result<()> {
    let (address, bytes) = (words.as_ptr() as u64, size_of_val(words) as u64);
    driver::ask(&Request::HostAccess { address, bytes, kind }).map(drop)
}

/// Pinned memory that earlier passes are done with. Page-locking 512 MiB takes longer than
/// everything else in a pass on a GPU, and passes of one process need the same blocks each time.
#[derive(Clone, Default)]
pub(crate) struct Reserve(Arc<Mutex<BTreeMap<usize, Vec<PinnedHostSlice<u32>>>>>);

impl Reserve {
    /// A block of `elements` words, which returns here.
    pub(crate) fn block(
        &self,
        context: &Arc<CudaContext>,
        memory: HostMemory,
        elements: usize,
    ) -> Result<HostBlock> {
        let kept = match memory {
            HostMemory::Pinned => self.take(elements),
            HostMemory::Pageable => None,
        };
        let mut block = match kept {
            Some(words) => HostBlock { kind: Kind::Pinned(words), reserve: None },
            None => HostBlock::new(context, memory, elements)?,
        };
        block.reserve = Some(self.clone());
        Ok(block)
    }

    fn take(&self, elements: usize) -> Option<PinnedHostSlice<u32>> {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.get_mut(&elements)?.pop()
    }

    fn put(&self, words: PinnedHostSlice<u32>) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.entry(words.len()).or_default().push(words);
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        if let Some(reserve) = self.reserve.take()
            && let Kind::Pinned(words) =
                std::mem::replace(&mut self.kind, Kind::Pageable(Vec::new()))
        {
            reserve.put(words);
        }
    }
}

impl HostSlice<u32> for HostBlock {
    fn len(&self) -> usize {
        match &self.kind {
            Kind::Pageable(words) => words.len(),
            Kind::Pinned(words) => HostSlice::len(words),
        }
    }

    unsafe fn stream_synced_slice<'a>(
        &'a self,
        stream: &'a CudaStream,
    ) -> (&'a [u32], SyncOnDrop<'a>) {
        // SAFETY: the caller's duty, passed on.
        unsafe {
            match &self.kind {
                Kind::Pageable(words) => words.stream_synced_slice(stream),
                Kind::Pinned(words) => words.stream_synced_slice(stream),
            }
        }
    }

    unsafe fn stream_synced_mut_slice<'a>(
        &'a mut self,
        stream: &'a CudaStream,
    ) -> (&'a mut [u32], SyncOnDrop<'a>) {
        // SAFETY: the caller's duty, passed on.
        unsafe {
            match &mut self.kind {
                Kind::Pageable(words) => words.stream_synced_mut_slice(stream),
                Kind::Pinned(words) => words.stream_synced_mut_slice(stream),
            }
        }
    }
}
