//! A caching allocator: memory that is freed stays with it, and goes to the next request of its
//! stream at once, without a call of the driver and without a wait.
//!
//! What it does is what PyTorch's allocator does with blocks of one size; `tests/caching` holds the
//! two against each other.
//!
//! | what happens | what happens to the block |
//! | --- | --- |
//! | the tensor is dropped | the next request of *its own stream* for so many words gets the block, at once |
//! | another stream asks | it does not get it |
//! | the use by another stream was recorded | the block returns once that stream has done all that was in it when the tensor was dropped; this is looked at with each allocation |
//! | a use by the tensor's own stream was recorded | nothing: that order is there already |
//! | no block of this size is free | `cuMemAlloc` gives another one |

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut,
    DeviceSlice, SyncOnDrop,
};

use crate::Result;
use crate::implicit_sync::{Block, SynchronousMemory};

/// A caching allocator. Its copies are one and the same.
#[derive(Clone)]
pub struct Allocator(Arc<Cache>);

struct Cache {
    memory: SynchronousMemory,
    blocks: Mutex<Blocks>,
}

/// A stream, by its handle.
type Handle = usize;

/// The blocks that no tensor has.
#[derive(Default)]
struct Blocks {
    /// Blocks that can be handed out, by the stream that allocated them first, words and address.
    free: BTreeMap<(Handle, usize, CUdeviceptr), Block>,
    /// Blocks that other streams may still use, by address.
    in_use: BTreeMap<CUdeviceptr, InUse>,
    /// Of each of these streams, what it had to do when a block was freed, in order.
    ends: BTreeMap<Handle, VecDeque<(CudaEvent, CUdeviceptr)>>,
}

/// A block that returns later.
struct InUse {
    block: Block,
    stream: Handle,
    /// How many streams are still to be waited for.
    streams: usize,
}

impl Allocator {
    /// An allocator that has no memory yet.
    pub fn new(context: &Arc<CudaContext>) -> Self {
        let memory = SynchronousMemory::of(context);
        Self(Arc::new(Cache { memory, blocks: Mutex::default() }))
    }

    /// Memory for `words` words, which belongs to `stream`. What is in it is whatever was there
    /// before, as with `torch.empty`.
    pub fn allocate(&self, stream: &Arc<CudaStream>, words: usize) -> Result<Tensor> {
        let mut blocks = self.0.blocks();
        blocks.take_back();
        let key = (handle(stream), words, 0);
        let found = blocks.free.range(key..).next().map(|(key, _)| *key);
        let found = found.filter(|&(of, has, _)| (of, has) == (key.0, words));
        let block = match found.and_then(|key| blocks.free.remove(&key)) {
            Some(block) => block,
            // SAFETY: any bytes are a word.
            None => unsafe { self.0.memory.alloc(words)? },
        };
        let (allocator, stream) = (self.clone(), stream.clone());
        Ok(Tensor { block: Some(block), stream, allocator, uses: Mutex::default() })
    }
}

impl Cache {
    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks {
    /// Frees what no stream uses any more. Of each stream only the first that is not over is asked:
    /// the others come after.
    fn take_back(&mut self) {
        for ends in self.ends.values_mut() {
            while ends.front().is_some_and(|(end, _)| end.is_complete())
                && let Some((_, address)) = ends.pop_front()
            {
                let Some(in_use) = self.in_use.get_mut(&address) else { continue };
                in_use.streams -= 1;
                if in_use.streams == 0
                    && let Some(InUse { block, stream, .. }) = self.in_use.remove(&address)
                {
                    self.free.insert((stream, block.len(), address), block);
                }
            }
        }
    }
}

/// Device memory of an allocator, which it gets back when this is dropped.
pub struct Tensor {
    /// There until it is dropped.
    block: Option<Block>,
    stream: Arc<CudaStream>,
    allocator: Allocator,
    /// Other streams that use it.
    uses: Mutex<Vec<Arc<CudaStream>>>,
}

impl Tensor {
    /// Says that `stream` uses the memory too: once it is freed, it returns when `stream` has
    /// done all that is in it by then. It makes no stream wait. Said of the tensor's own stream, it
    /// does nothing.
    pub fn record_stream(&self, stream: &Arc<CudaStream>) {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |it: &Arc<CudaStream>| handle(it) == handle(stream);
        if !is_known(&self.stream) && !uses.iter().any(is_known) {
            uses.push(stream.clone());
        }
    }

    /// All of it.
    pub fn as_view(&self) -> CudaView<'_, u32> {
        self.block().as_view()
    }

    /// All of it, to be written.
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, u32> {
        self.block_mut().as_view_mut()
    }

    fn block(&self) -> &Block {
        self.block.as_ref().expect("it is there until it is dropped")
    }

    fn block_mut(&mut self) -> &mut Block {
        self.block.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        let Some(block) = self.block.take() else { return };
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = self.allocator.0.blocks();
        let (address, _) = block.device_ptr(&self.stream);
        for stream in uses.iter() {
            // Where no event can be recorded, the device is lost, and so is the memory.
            let Ok(end) = stream.record_event(None) else { return };
            blocks.ends.entry(handle(stream)).or_default().push_back((end, address));
        }
        let stream = handle(&self.stream);
        if uses.is_empty() {
            blocks.free.insert((stream, block.len(), address), block);
        } else {
            blocks.in_use.insert(address, InUse { block, stream, streams: uses.len() });
        }
    }
}

fn handle(stream: &CudaStream) -> Handle {
    stream.cu_stream() as Handle
}

impl DeviceSlice<u32> for Tensor {
    fn len(&self) -> usize {
        self.block().len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl DevicePtr<u32> for Tensor {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.block().device_ptr(stream)
    }
}

impl DevicePtrMut<u32> for Tensor {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.block_mut().device_ptr_mut(stream)
    }
}
