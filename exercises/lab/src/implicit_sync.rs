//! The service of `implicit_sync`: requests of several sizes are copied to the device, go through a
//! kernel, and their answers return. And device memory as `cuMemAlloc` gives it, which cudarc's
//! streams do not.

use std::any::Any;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut,
    DeviceSlice, SyncOnDrop, result,
};
use kernels::task::implicit_sync::{INPUT, OUTPUT, SPEC};
use kernels::{Stage, Task};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::streams::blocking_stream;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Sizes of requests, in parts of the array: small and large ones in turn. The first one is small,
/// because nothing can run beside its upload.
const SIZES: [usize; 8] = [2, 5, 3, 6, 4, 3, 5, 4];
/// Parts of the array: four times all sizes, so that filling and draining hardly show.
const PARTS: usize = 128;
/// Words of a request's header, nominally: 4 KiB, as pinned blocks of their own often are.
const HEADER: usize = 1 << 10;
/// The kernel works on whole pages of so many words, nominally.
const PAGE: usize = 1 << 15;
/// Workers: one for each of the three steps, and one more, because requests take different times.
const WORKERS: usize = 4;

/// The service, without requests.
pub struct Service {
    lab: Lab,
    task: Task,
    map: Map,
    /// Blocking ones: they take turns with the NULL stream.
    streams: Vec<Arc<CudaStream>>,
    /// All that was loaded: to unload a module while its kernels run would be another matter.
    loaded: Mutex<Vec<Map>>,
}

impl Service {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// The workers, which serve requests in turn.
    pub fn workers(&self) -> Vec<Worker> {
        let worker = |stream: &Arc<CudaStream>| Worker {
            stream: stream.clone(),
            device: InUse::default(),
            pinned: InUse::default(),
        };
        self.streams.iter().map(worker).collect()
    }

    /// Loads the module with the kernel that answers requests, by `cuModuleLoadData`.
    pub fn load_kernel(&self) -> Result<Kernel> {
        let map = Map::load(self.context(), Stage::A, self.task.rounds(), self.lab.scale)?;
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).push(map.clone());
        Ok(Kernel(map))
    }

    /// An allocator of device memory by `cuMemAlloc`, and frees it by `cuMemFree`.
    pub fn synchronous_memory(&self) -> SynchronousMemory {
        SynchronousMemory::of(self.context())
    }

    /// Allocates the requests and room for their answers, in pinned host memory.
    pub fn receive(&self) -> Result<Requests<'_>> {
        let part = self.task.elements() as usize / PARTS;
        let (header, page) = (self.lab.elements(HEADER), self.lab.elements(PAGE));
        let (mut list, mut headers, mut first) = (Vec::new(), Vec::new(), 0);
        for (number, size) in SIZES.into_iter().cycle().enumerate() {
            let words = size * part;
            // The lab keeps pinned memory for later passes on a GPU. That of headers is really
            // freed.
            headers.push(HostBlock::new(self.context(), HostMemory::Pinned, header)?);
            list.push(Request {
                number,
                first,
                body: self.lab.host_block(HostMemory::Pinned, words - header)?,
                answer: self.lab.host_block(HostMemory::Pinned, words)?,
                header,
                page,
            });
            first += words;
            if first + SIZES[0] * part > self.task.elements() as usize {
                break;
            }
        }
        Ok(Requests { service: self, list, headers })
    }
}

/// A worker: a blocking stream, and the memory that its requests still use.
pub struct Worker {
    /// The stream.
    pub stream: Arc<CudaStream>,
    /// Device memory in use, of whatever kind.
    pub device: InUse<Box<dyn Any>>,
    /// Pinned memory in use.
    pub pinned: InUse<HostBlock>,
}

/// Blocks of memory that are kept for as long as the device may use them.
pub struct InUse<T>(RefCell<Vec<T>>);

impl<T> InUse<T> {
    /// Keeps one more.
    pub fn push(&self, block: T) {
        self.0.borrow_mut().push(block);
    }

    /// Frees all of them.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

impl<T> Default for InUse<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

/// The kernel that answers requests.
pub struct Kernel(Map);

impl Kernel {
    /// Queues the kernel over all of `data`, in place.
    pub fn launch(&self, stream: &Arc<CudaStream>, data: &mut CudaSlice<u32>) -> Result<()> {
        self.0.launch(stream, data)
    }
}

/// The requests in memory.
pub struct Requests<'a> {
    service: &'a Service,
    list: Vec<Request>,
    headers: Vec<HostBlock>,
}

/// A request. Its header is in a block of its own.
pub struct Request {
    /// Its place among the requests, from 0.
    pub number: usize,
    first: usize,
    /// The part after the header.
    pub body: HostBlock,
    /// Room for the answer.
    pub answer: HostBlock,
    header: usize,
    page: usize,
}

impl Request {
    /// Words that it needs on the device: its own, and the rest of the last page, which has to be
    /// zero.
    pub fn words(&self) -> usize {
        self.answer.len().next_multiple_of(self.page)
    }

    /// Where the header goes on the device.
    pub fn header_in<'d>(&self, data: &'d mut CudaSlice<u32>) -> CudaViewMut<'d, u32> {
        data.slice_mut(..self.header)
    }

    /// Where the body goes on the device.
    pub fn body_in<'d>(&self, data: &'d mut CudaSlice<u32>) -> CudaViewMut<'d, u32> {
        data.slice_mut(self.header..self.answer.len())
    }

    /// Where the answer is, once the kernel has made it.
    pub fn answer_in<'d>(&self, data: &'d CudaSlice<u32>) -> CudaView<'d, u32> {
        data.slice(..self.answer.len())
    }
}

impl Requests<'_> {
    /// The measured region: `body` is given the requests, and the header of each. The device is
    /// idle when it begins, and must be idle again when `body` returns.
    pub fn region(
        self,
        body: impl FnOnce(&mut [Request], Vec<HostBlock>) -> Result<()>,
    ) -> Result<()> {
        let Self { service, mut list, headers } = self;
        let [mut inputs, mut outputs] = [Vec::new(), Vec::new()];
        for (request, header) in list.iter().zip(&headers) {
            inputs.push(header.buffer(INPUT, request.first)?);
            inputs.push(request.body.buffer(INPUT, request.first + header.len())?);
            outputs.push(request.answer.buffer(OUTPUT, request.first)?);
        }
        service.lab.measure(&service.task, [inputs, outputs], || body(&mut list, headers))
    }
}

/// An allocator of device memory by `cuMemAlloc`.
pub struct SynchronousMemory(Arc<CudaStream>);

impl SynchronousMemory {
    /// That of a context.
    pub fn of(context: &Arc<CudaContext>) -> Self {
        Self(context.default_stream())
    }

    /// A block of `words` words, which belongs to no stream.
    ///
    /// # Safety
    ///
    /// Nothing is in it: it has to be written before it is read.
    pub unsafe fn alloc(&self, words: usize) -> Result<Block> {
        self.0.context().bind_to_thread()?;
        // SAFETY: the memory is as large as it is said to be. What is in it is the caller's duty.
        let slice = unsafe {
            let address = result::malloc_sync(words * size_of::<u32>())?;
            self.0.upgrade_device_ptr(address, words)
        };
        Ok(Block(Some(slice)))
    }
}

/// Device memory of `cuMemAlloc`, which `cuMemFree` frees when it is dropped.
pub struct Block(Option<CudaSlice<u32>>);

impl Deref for Block {
    type Target = CudaSlice<u32>;

    fn deref(&self) -> &CudaSlice<u32> {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut CudaSlice<u32> {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(slice) = self.0.take() {
            // SAFETY: `cuMemAlloc` gave the address, and nothing else frees it. An error shows at
            // the next call.
            _ = unsafe { result::free_sync(slice.leak()) };
        }
    }
}

impl DeviceSlice<u32> for Block {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        (**self).stream()
    }
}

impl DevicePtr<u32> for Block {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (**self).device_ptr(stream)
    }
}

impl DevicePtrMut<u32> for Block {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (**self).device_ptr_mut(stream)
    }
}

impl Exercise for Service {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        let streams: Result<_> = (0..WORKERS).map(|_| blocking_stream(lab.context())).collect();
        Ok(Self { lab: lab.clone(), task, map, streams: streams?, loaded: Mutex::default() })
    }

    fn calibrate(&self) -> Result<()> {
        let stream = self.context().new_stream()?;
        let elements = self.task.elements() as usize;
        let mut host = self.lab.host_block(HostMemory::Pinned, elements)?;
        host.words_mut()?.fill(1);
        let mut data = stream.alloc_zeros(elements)?;
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&host, &mut data)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            self.map.launch(stream, &mut data)?;
            Ok(())
        })?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&data, &mut host)?;
            Ok(())
        })
    }
}
