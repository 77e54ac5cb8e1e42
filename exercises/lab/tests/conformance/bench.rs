//! The device as the rows' bodies use it: kernels of a known length, streams, events, memory, and two
//! kernels with a call in between.

use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};
use std::ptr;

use cudarc::driver::{result, sys};

use crate::row::{BLOCKED, FREE, Fact, HELD, OVERLAP, Result, SERIAL};

/// Makes a call of the driver API; its value is the `CUresult`.
macro_rules! cu {
    ($call:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: handles are live, except where a row asks what happens when they are not and the
        // driver answers that with a code; addresses have room for what is written there, and keep it
        // until the device is idle.
        unsafe { cudarc::driver::sys::$call($($argument),*) }
    };
}

pub(crate) use cu;

/// Length of the kernels, in ms: longer than any call takes that does not wait, 7 ms for a pageable
/// copy of 64 MiB among them.
pub(crate) const MS: f64 = 30.0;

/// Length of the kernels around calls that take long by themselves, in ms: 24 ms were measured for
/// page-locking 64 MiB.
pub(crate) const LONG_MS: f64 = 100.0;

/// A call that takes longer than this holds the host, in ms: a pinned copy of 64 MiB takes 1.2 ms, and a
/// call that only queues work a few µs.
const HELD_MS: f64 = 0.3;

/// Elements of a block: four for each of 256 threads, as the kernel works on them.
pub(crate) const ELEMENTS: u32 = 1024;
const THREADS: u32 = 256;

/// Blocks of the largest grid: eight waves of eight blocks on each of 132 multiprocessors.
pub(crate) const MOST_BLOCKS: u32 = 8 * 8 * 132;

/// Whether a stream takes part in the barrier of the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Blocking,
    NonBlocking,
}

impl Kind {
    pub(crate) const BOTH: [Self; 2] = [Self::Blocking, Self::NonBlocking];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Blocking => "blocking",
            Kind::NonBlocking => "non-blocking",
        }
    }
}

/// A stream.
pub(crate) struct Stream(Cell<sys::CUstream>);

impl Stream {
    pub(crate) fn new(kind: Kind) -> Result<Self> {
        Self::with_priority(kind, 0)
    }

    pub(crate) fn with_priority(kind: Kind, priority: i32) -> Result<Self> {
        let flags = match kind {
            Kind::Blocking => sys::CUstream_flags::CU_STREAM_DEFAULT,
            Kind::NonBlocking => sys::CUstream_flags::CU_STREAM_NON_BLOCKING,
        };
        let mut stream = ptr::null_mut();
        cu!(cuStreamCreateWithPriority(&mut stream, flags as u32, priority)).result()?;
        Ok(Self(Cell::new(stream)))
    }

    pub(crate) fn handle(&self) -> sys::CUstream {
        self.0.get()
    }

    /// Destroys it now, whatever it is doing.
    pub(crate) fn destroy(&self) -> Result<()> {
        cu!(cuStreamDestroy_v2(self.0.replace(ptr::null_mut()))).result()
    }

    pub(crate) fn wait(&self, event: &Event) -> Result<()> {
        cu!(cuStreamWaitEvent(self.handle(), event.handle(), 0)).result()
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        cu!(cuStreamSynchronize(self.handle())).result()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.handle().is_null() {
            let _ = self.destroy();
        }
    }
}

/// The default stream.
pub(crate) const NULL: sys::CUstream = ptr::null_mut();

/// The default stream by its other name, `CU_STREAM_LEGACY`.
pub(crate) fn legacy() -> sys::CUstream {
    ptr::without_provenance_mut(1)
}

/// The default stream of this thread, `CU_STREAM_PER_THREAD`.
pub(crate) fn per_thread() -> sys::CUstream {
    ptr::without_provenance_mut(2)
}

/// An event.
pub(crate) struct Event(Cell<sys::CUevent>);

impl Event {
    pub(crate) fn new() -> Result<Self> {
        Self::with_flags(sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    pub(crate) fn with_flags(flags: sys::CUevent_flags) -> Result<Self> {
        let mut event = ptr::null_mut();
        cu!(cuEventCreate(&mut event, flags as u32)).result()?;
        Ok(Self(Cell::new(event)))
    }

    /// A new event, recorded in the stream.
    pub(crate) fn recorded(stream: sys::CUstream) -> Result<Self> {
        let event = Self::new()?;
        event.record(stream)?;
        Ok(event)
    }

    pub(crate) fn handle(&self) -> sys::CUevent {
        self.0.get()
    }

    pub(crate) fn record(&self, stream: sys::CUstream) -> Result<()> {
        cu!(cuEventRecord(self.handle(), stream)).result()
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        cu!(cuEventSynchronize(self.handle())).result()
    }

    pub(crate) fn query(&self) -> sys::CUresult {
        cu!(cuEventQuery(self.handle()))
    }

    /// Destroys it now, whatever it stands for.
    pub(crate) fn destroy(&self) -> Result<()> {
        cu!(cuEventDestroy_v2(self.0.replace(ptr::null_mut()))).result()
    }

    /// From `earlier` to this one, in ms.
    pub(crate) fn since(&self, earlier: &Event) -> Result<f64> {
        // SAFETY: both are live.
        unsafe { result::event::elapsed(earlier.handle(), self.handle()) }.map(f64::from)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if !self.handle().is_null() {
            let _ = self.destroy();
        }
    }
}

/// Device memory.
pub(crate) struct Memory(Cell<u64>);

impl Memory {
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        let mut address = 0;
        cu!(cuMemAlloc_v2(&mut address, bytes)).result()?;
        Ok(Self(Cell::new(address)))
    }

    pub(crate) fn address(&self) -> u64 {
        self.0.get()
    }

    pub(crate) fn free(&self) -> Result<()> {
        cu!(cuMemFree_v2(self.0.replace(0))).result()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.address() != 0 {
            let _ = self.free();
        }
    }
}

/// Page-locked host memory.
pub(crate) struct Pinned(Cell<*mut c_void>);

impl Pinned {
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        let mut address = ptr::null_mut();
        cu!(cuMemHostAlloc(&mut address, bytes, 0)).result()?;
        Ok(Self(Cell::new(address)))
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.0.get()
    }

    pub(crate) fn free(&self) -> Result<()> {
        cu!(cuMemFreeHost(self.0.replace(ptr::null_mut()))).result()
    }

    /// The first word.
    pub(crate) fn word(&self) -> u32 {
        // SAFETY: blocks are of a word at least, and only the device writes them meanwhile.
        unsafe { self.address().cast::<u32>().read_volatile() }
    }

    /// Sets the first `count` words.
    pub(crate) fn fill(&self, count: usize, word: u32) {
        for index in 0..count {
            // SAFETY: the callers know their block's size.
            unsafe { self.address().cast::<u32>().add(index).write_volatile(word) };
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if !self.address().is_null() {
            let _ = self.free();
        }
    }
}

/// Host memory, of either kind.
pub(crate) enum Host {
    Pinned(Pinned),
    Pageable(Vec<u8>),
}

impl Host {
    pub(crate) fn pinned(bytes: usize) -> Result<Self> {
        Pinned::new(bytes).map(Self::Pinned)
    }

    /// Ordinary memory that has been touched.
    pub(crate) fn pageable(bytes: usize) -> Result<Self> {
        Ok(Self::Pageable(vec![1; bytes]))
    }

    pub(crate) fn address(&self) -> *mut c_void {
        match self {
            Host::Pinned(pinned) => pinned.address(),
            Host::Pageable(bytes) => bytes.as_ptr().cast_mut().cast(),
        }
    }
}

/// The lab's clock.
pub(crate) struct Stopwatch(lab::Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(lab::Instant::now().expect("the lab has a clock"))
    }

    /// Since the start, in ms.
    pub(crate) fn ms(&self) -> f64 {
        self.0.elapsed().expect("the lab has a clock").as_secs_f64() * 1e3
    }
}

/// A device, warmed up, and a kernel of a known length.
pub(crate) struct Bench {
    image: CString,
    pub(crate) module: sys::CUmodule,
    pub(crate) kernel: sys::CUfunction,
    rounds_per_ms: f64,
    /// What the kernels work on where nobody looks at it.
    scratch: Memory,
    pub(crate) name: String,
    pub(crate) version: i32,
    pub(crate) device: c_int,
}

impl Bench {
    pub(crate) fn open() -> Result<Self> {
        lab::driver::load().expect("the driver library is beside this program");
        result::init()?;
        let device = result::device::get(0)?;
        let mut version = 0;
        cu!(cuDriverGetVersion(&mut version)).result()?;
        // SAFETY: the device is there, and the context is never released.
        unsafe { result::ctx::set_current(result::primary_ctx::retain(device)?)? };
        let image = CString::new(kernels::map::IMAGE).expect("PTX has no zero byte");
        let mut module = ptr::null_mut();
        cu!(cuModuleLoadData(&mut module, image.as_ptr().cast())).result()?;
        let mut kernel = ptr::null_mut();
        cu!(cuModuleGetFunction(&mut kernel, module, c"map_a".as_ptr())).result()?;
        let mut bench = Self {
            image,
            module,
            kernel,
            rounds_per_ms: 118_652.0,
            scratch: Memory::new(MOST_BLOCKS as usize * ELEMENTS as usize * 4)?,
            name: result::device::get_name(device)?,
            version,
            device,
        };
        bench.warm_up()?;
        Ok(bench)
    }

    /// The first call of many a kind loads something, and a device at rest is slow.
    fn warm_up(&mut self) -> Result<()> {
        let stream = Stream::new(Kind::NonBlocking)?;
        let memory = Memory::new(8 << 10)?;
        let (pinned, pageable) = (Host::pinned(4 << 10)?, Host::pageable(4 << 10)?);
        let (address, handle) = (memory.address(), stream.handle());
        cu!(cuMemsetD8Async(address, 0, 8 << 10, handle)).result()?;
        cu!(cuMemsetD32Async(address, 0, 2 << 10, handle)).result()?;
        cu!(cuMemsetD8_v2(address, 0, 8 << 10)).result()?;
        cu!(cuMemcpyDtoDAsync_v2(address + 4096, address, 4096, handle)).result()?;
        for host in [&pinned, &pageable] {
            cu!(cuMemcpyHtoDAsync_v2(address, host.address(), 4096, handle)).result()?;
            cu!(cuMemcpyDtoHAsync_v2(host.address(), address, 4096, handle)).result()?;
        }
        let mut ordered = 0;
        cu!(cuMemAllocAsync(&mut ordered, 1 << 20, handle)).result()?;
        cu!(cuMemFreeAsync(ordered, handle)).result()?;
        cu!(cuLaunchHostFunc(handle, Some(nothing), ptr::null_mut())).result()?;
        self.launch(handle, 1, self.rounds(20.0))?;
        self.launch(handle, 132, self.rounds(1.0))?;
        let start = Event::recorded(handle)?;
        let rounds = self.rounds(10.0);
        self.launch(handle, 1, rounds)?;
        let end = Event::recorded(handle)?;
        self.synchronize()?;
        self.rounds_per_ms = f64::from(rounds) / end.since(&start)?;
        Ok(())
    }

    /// The PTX of the kernels.
    pub(crate) fn image(&self) -> *const c_void {
        self.image.as_ptr().cast()
    }

    /// What the kernels work on where nobody looks at it.
    pub(crate) fn scratch(&self) -> u64 {
        self.scratch.address()
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        cu!(cuCtxSynchronize()).result()
    }

    /// Rounds that take one block, alone on its multiprocessor, so long. An odd number of them changes
    /// every element.
    pub(crate) fn rounds(&self, ms: f64) -> u32 {
        (self.rounds_per_ms * ms) as u32 | 1
    }

    /// Launches the map over the scratch memory, 1024 elements to a block.
    pub(crate) fn launch(&self, stream: sys::CUstream, blocks: u32, rounds: u32) -> Result<()> {
        assert!(blocks <= MOST_BLOCKS, "the scratch memory has no room for {blocks} blocks");
        self.launch_on(stream, blocks, rounds, self.scratch.address())
    }

    /// As [`Bench::launch`], over memory of the caller's.
    pub(crate) fn launch_on(
        &self,
        stream: sys::CUstream,
        blocks: u32,
        rounds: u32,
        address: u64,
    ) -> Result<()> {
        let elements = blocks * ELEMENTS;
        launch_raw(self.kernel, stream, [blocks, THREADS, 0], address, elements, rounds).result()
    }

    /// Launches one block that takes so long.
    pub(crate) fn kernel(&self, stream: sys::CUstream, ms: f64) -> Result<()> {
        self.launch(stream, 1, self.rounds(ms))
    }

    /// A kernel on a first stream, then `call`, then as long a kernel on a second.
    pub(crate) fn between(
        &self,
        kind: Kind,
        ms: f64,
        call: impl FnOnce(&Scene<'_>) -> Result<()>,
    ) -> Result<Observed> {
        let scene = Scene {
            bench: self,
            first: Stream::new(kind)?,
            second: Stream::new(kind)?,
            third: Stream::new(kind)?,
        };
        self.synchronize()?;
        let begin = Event::recorded(scene.first.handle())?;
        self.kernel(scene.first.handle(), ms)?;
        let end = Event::recorded(scene.first.handle())?;
        // Made before the call, so that making it is no part of what is seen.
        let other_end = Event::new()?;
        let watch = Stopwatch::start();
        let called = call(&scene);
        let held_ms = watch.ms();
        self.kernel(scene.second.handle(), ms)?;
        other_end.record(scene.second.handle())?;
        self.synchronize()?;
        called?;
        let ms = end.since(&begin)?;
        // Had it run from the start, the second kernel would end with the first or a call later.
        let serial = other_end.since(&end)? > 0.75 * ms;
        Ok(Observed { held_ms, ms, streams: if serial { SERIAL } else { OVERLAP } })
    }
}

/// Launches a map kernel: blocks, threads, bytes of shared memory.
pub(crate) fn launch_raw(
    kernel: sys::CUfunction,
    stream: sys::CUstream,
    [blocks, threads, shared]: [u32; 3],
    mut address: u64,
    mut elements: u32,
    mut rounds: u32,
) -> sys::CUresult {
    let mut target = address;
    let mut arguments: [*mut c_void; 4] = [
        (&raw mut address).cast(),
        (&raw mut target).cast(),
        (&raw mut elements).cast(),
        (&raw mut rounds).cast(),
    ];
    cu!(cuLaunchKernel(
        kernel,
        blocks,
        1,
        1,
        threads,
        1,
        1,
        shared,
        stream,
        arguments.as_mut_ptr(),
        ptr::null_mut(),
    ))
}

/// A host function that does nothing.
pub(crate) unsafe extern "C" fn nothing(_data: *mut c_void) {}

/// What a call between two kernels may use.
pub(crate) struct Scene<'a> {
    pub(crate) bench: &'a Bench,
    /// The kernel before the call is here.
    pub(crate) first: Stream,
    /// The kernel after the call is here.
    pub(crate) second: Stream,
    /// Nothing is here.
    pub(crate) third: Stream,
}

/// What was seen around a call between two kernels.
pub(crate) struct Observed {
    /// How long the call took.
    held_ms: f64,
    /// How long the kernel before it took.
    ms: f64,
    streams: Fact,
}

impl Observed {
    /// Whether the host waited for the kernel.
    pub(crate) fn waiting(&self) -> Fact {
        if self.held_ms > self.ms / 2.0 { BLOCKED } else { FREE }
    }

    /// Whether the host waited for the kernel, or for the call alone.
    pub(crate) fn holding(&self) -> Fact {
        match self.waiting() {
            FREE if self.held_ms > HELD_MS => HELD,
            waiting => waiting,
        }
    }

    pub(crate) fn streams(&self) -> Fact {
        self.streams
    }
}
