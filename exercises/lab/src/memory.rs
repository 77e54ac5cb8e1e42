//! Host memory, pinned or pageable.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, HostSlice, PinnedHostSlice, SyncOnDrop};

use crate::Result;

/// Which kind of host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostMemory {
    /// Ordinary memory, as `Vec` has it.
    #[default]
    Pageable,
    /// Page-locked memory, which a copy engine reads and writes by itself.
    Pinned,
}

/// A block of 32-bit words in host memory. Copies take it as they take a `Vec` or cudarc's
/// `PinnedHostSlice`, which is what it is.
pub struct HostBlock(Kind);

enum Kind {
    Pageable(Vec<u32>),
    Pinned(PinnedHostSlice<u32>),
}

impl HostBlock {
    /// A block of `elements` words.
    pub fn new(context: &Arc<CudaContext>, memory: HostMemory, elements: usize) -> Result<Self> {
        Ok(Self(match memory {
            HostMemory::Pageable => Kind::Pageable(vec![0; elements]),
            HostMemory::Pinned => {
                // Flags 0: the default of cudarc is write-combined memory, which is slow to read.
                // SAFETY: the lab writes every word before the host reads any.
                let words = unsafe { context.alloc_pinned_with_flags(elements, 0)? };
                Kind::Pinned(words)
            }
        }))
    }

    /// Which kind of memory it is in.
    pub fn memory(&self) -> HostMemory {
        match self.0 {
            Kind::Pageable(_) => HostMemory::Pageable,
            Kind::Pinned(_) => HostMemory::Pinned,
        }
    }

    /// The words. Whoever reads them makes sure that no copy still writes them.
    pub fn words(&self) -> Result<&[u32]> {
        Ok(match &self.0 {
            Kind::Pageable(words) => words,
            Kind::Pinned(words) => words.as_slice()?,
        })
    }

    /// The words, to be written. Whoever does makes sure that no copy still reads or writes them.
    pub fn words_mut(&mut self) -> Result<&mut [u32]> {
        Ok(match &mut self.0 {
            Kind::Pageable(words) => words,
            Kind::Pinned(words) => words.as_mut_slice()?,
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

    pub(crate) fn address(&self) -> Result<u64> {
        Ok(match &self.0 {
            Kind::Pageable(words) => words.as_ptr() as u64,
            Kind::Pinned(words) => words.as_ptr()? as u64,
        })
    }
}

impl HostSlice<u32> for HostBlock {
    fn len(&self) -> usize {
        match &self.0 {
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
            match &self.0 {
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
            match &mut self.0 {
                Kind::Pageable(words) => words.stream_synced_mut_slice(stream),
                Kind::Pinned(words) => words.stream_synced_mut_slice(stream),
            }
        }
    }
}
