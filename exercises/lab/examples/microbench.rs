//! Measures on a GPU the figures that a simulated device's profile needs: what calls cost the host, how
//! fast copies and kernels are, and how long the device pauses between them.
//!
//! It is not an exercise and grades nothing; it talks to the real driver directly and needs a GPU that
//! nothing else uses. One JSON object goes to stdout, its keys naming what was measured and the unit;
//! each figure is also printed on stderr as it is found, so that a crash still tells what was measured.
//! A figure that could not be measured is `null`.
//!
//! - `Gpu`: the driver's calls, with the handles that the measurements share.
//! - `Book`: the figures found so far.
//! - one function per section, in the order of `SECTIONS`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a stand-alone program that prints figures"
)]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_int, c_long, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::ptr;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUdeviceptr, CUevent, CUfunction, CUmodule, CUresult, CUstream};
use kernels::{Argument, Blocks, Kernel};
use serde_json::{Map, Value};

/// Nanoseconds, or any other figure that the book holds.
type Figure = i64;
/// An error is a message: nothing here acts on its kind.
type Outcome<T> = Result<T, String>;

/// Fewer repetitions let one disturbed run move the median.
const REPETITIONS: usize = 11;
/// After this time the remaining figures are `null`: a lost tail is better than a killed process.
const TIME_LIMIT: Duration = Duration::from_secs(82);

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Of each of the two device buffers and the two pinned ones; the largest copy measured.
const BUFFER_BYTES: usize = 256 * MIB;

const US: u64 = 1_000; // in nanoseconds
const MS: u64 = 1_000_000; // in nanoseconds

/// Measures what belongs together, each figure on its own.
type Section = fn(&Gpu, &Book);

const SECTIONS: &[(&str, Section)] = &[
    ("device", device),
    ("functions", functions),
    ("correctness", correctness),
    ("matmul", matmul),
    ("map_rates", map_rates),
    ("memory_rates", memory_rates),
    ("pinned_copies", pinned_copies),
    ("copy_sequences", copy_sequences),
    ("duplex", duplex),
    ("contention", contention),
    ("pageable_copies", pageable_copies),
    ("pageable_copies_in_turn", pageable_copies_in_turn),
    ("fresh_pages", fresh_pages),
    ("host_calls_idle", host_calls_idle),
    ("host_calls_busy", host_calls_busy),
    ("host_allocations", host_allocations),
    ("module_loads", module_loads),
    ("latencies", latencies),
    ("device_gaps", device_gaps),
    ("concurrent_grids", concurrent_grids),
];

/// What the human table at the end shows: prefixes of keys.
const SUMMARY: &[&str] = &[
    "sm_count",
    "async_engine_count",
    "matmul_1024",
    "map_wrong",
    "map_8_blocks_per_sm_element_rounds",
    "map_1_block_",
    "device_memory_bytes_per_us",
    "copy_h2d_pinned_bytes_per_us",
    "copy_d2h_pinned_bytes_per_us",
    "copy_h2d_pinned_fixed_ns",
    "copy_d2h_pinned_fixed_ns",
    "duplex_",
    "copy_h2d_pageable_staged",
    "copy_d2h_pageable_staged",
    "call_launch",
    "latency_",
    "gap_",
];

/// Kernels whose time is known beforehand.
const CLOCKWORK: &CStr = c"
.version 6.0
.target sm_70
.address_size 64
.visible .entry empty()
{
    ret;
}
.visible .entry spin(.param .u64 duration)
{
    .reg .u64 %rd<4>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [duration];
    mov.u64 %rd2, %globaltimer;
AGAIN:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd3, %rd3, %rd2;
    setp.lt.u64 %p1, %rd3, %rd1;
    @%p1 bra AGAIN;
    ret;
}
.visible .entry spin_then_tell(.param .u64 duration, .param .u64 flag, .param .u32 value)
{
    .reg .u64 %rd<5>;
    .reg .u32 %r<2>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [duration];
    ld.param.u64 %rd4, [flag];
    ld.param.u32 %r1, [value];
    mov.u64 %rd2, %globaltimer;
AGAIN:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd3, %rd3, %rd2;
    setp.lt.u64 %p1, %rd3, %rd1;
    @%p1 bra AGAIN;
    st.volatile.global.u32 [%rd4], %r1;
    membar.sys;
    ret;
}
";

// ------------------------------------------------------------------------------------------------ main

fn main() -> ExitCode {
    // SAFETY: it only tries to load the library.
    if !unsafe { sys::is_culib_present() } {
        eprintln!("no CUDA driver was found\nhint: this program needs a GPU");
        return ExitCode::FAILURE;
    }
    let gpu = match Gpu::open() {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("cannot open the GPU: {error}");
            return ExitCode::FAILURE;
        }
    };
    let book = Book::new();
    for (name, section) in SECTIONS {
        eprintln!("{name}");
        let began = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| section(&gpu, &book))).is_err() {
            book.note(format!("section_{name}"), Err("it panicked".to_owned()));
        }
        if let Err(error) = gpu.idle() {
            book.note(format!("after_{name}_ns"), Err(error));
        }
        eprintln!("  ({name}: {} ms)", began.elapsed().as_millis());
    }
    book.print();
    ExitCode::SUCCESS
}

// ---------------------------------------------------------------------------------------------- figures

/// The figures found so far.
struct Book {
    began: Instant,
    figures: std::cell::RefCell<Map<String, Value>>,
}

impl Book {
    fn new() -> Self {
        Self { began: Instant::now(), figures: Map::new().into() }
    }

    /// Keeps what the measurement gives, and passes it on for what is derived from it.
    fn measure(
        &self,
        key: impl Into<String>,
        measurement: impl FnOnce() -> Outcome<Figure>,
    ) -> Option<Figure> {
        let key = key.into();
        let outcome = if self.began.elapsed() > TIME_LIMIT {
            Err("no time left".to_owned())
        } else {
            catch_unwind(AssertUnwindSafe(measurement))
                .unwrap_or_else(|_| Err("it panicked".to_owned()))
        };
        let figure = outcome.as_ref().ok().copied();
        self.note(key, outcome.map(Value::from));
        figure
    }

    fn note(&self, key: String, outcome: Outcome<Value>) {
        let value = match outcome {
            Ok(value) => {
                eprintln!("  {key:<64} {value}");
                value
            }
            Err(error) => {
                eprintln!("  {key:<64} null: {error}");
                Value::Null
            }
        };
        self.figures.borrow_mut().insert(key, value);
    }

    fn print(&self) {
        let figures = self.figures.take();
        eprintln!("\nin short");
        for (key, value) in &figures {
            if SUMMARY.iter().any(|prefix| key.starts_with(prefix)) {
                eprintln!("  {key:<64} {value}");
            }
        }
        eprintln!("  all of it took {} s", self.began.elapsed().as_secs());
        println!(
            "{}",
            serde_json::to_string_pretty(&Value::Object(figures))
                .expect("figures are plain values")
        );
    }
}

fn median(repetitions: usize, mut measurement: impl FnMut() -> Outcome<Figure>) -> Outcome<Figure> {
    let mut figures = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        figures.push(measurement()?);
    }
    figures.sort_unstable();
    Ok(figures[repetitions / 2])
}

fn nanoseconds(duration: Duration) -> Figure {
    Figure::try_from(duration.as_nanos()).expect("measurements take less than 292 years")
}

/// How long the host was held.
fn held(call: impl FnOnce() -> Outcome<()>) -> Outcome<Figure> {
    let began = Instant::now();
    call()?;
    Ok(nanoseconds(began.elapsed()))
}

fn per(total: Figure, count: usize) -> Figure {
    total / count as Figure
}

// --------------------------------------------------------------------------------------------- the GPU

/// Calls the driver and names the call in the error.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: handles and addresses come from the driver and outlive their use; places for results
        // live for the call; buffers are as long as the call is told.
        let code = unsafe { sys::$function($($argument),*) };
        if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("{}: {code:?}", stringify!($function))) }
    }};
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    HostToDevice,
    DeviceToHost,
}

impl Direction {
    const BOTH: [Self; 2] = [Self::HostToDevice, Self::DeviceToHost];

    fn short(self) -> &'static str {
        match self {
            Self::HostToDevice => "h2d",
            Self::DeviceToHost => "d2h",
        }
    }
}

/// The driver's calls, with the handles that the measurements share. Nothing is released: the process's
/// end does that.
struct Gpu {
    device: c_int,
    sms: usize,
    /// Non-blocking, so that nothing waits for the NULL stream.
    streams: [CUstream; 3],
    /// With timing, for `between`.
    start: CUevent,
    stop: CUevent,
    /// Without timing, for order between streams.
    order: [CUevent; 3],
    empty: CUfunction,
    spin: CUfunction,
    spin_then_tell: CUfunction,
    modules: Vec<(&'static str, Outcome<CUmodule>)>,
    memory: [CUdeviceptr; 2],
    pinned: [*mut u8; 2],
    /// A word of pinned memory that a kernel writes and the host watches.
    flag: *mut u32,
    told: Cell<u32>,
}

impl Gpu {
    fn open() -> Outcome<Self> {
        call!(cuInit(0))?;
        let mut device = 0;
        call!(cuDeviceGet(&mut device, 0))?;
        let mut context = ptr::null_mut();
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        call!(cuCtxSetCurrent(context))?;
        let mut clockwork = ptr::null_mut();
        call!(cuModuleLoadData(&mut clockwork, CLOCKWORK.as_ptr().cast()))?;
        let mut modules: Vec<(&'static str, Outcome<CUmodule>)> = Vec::new();
        for kernel in kernels::all() {
            if !modules.iter().any(|(image, _)| *image == kernel.image) {
                modules.push((kernel.image, load(kernel.image)));
            }
        }
        let mut gpu = Self {
            device,
            sms: 0,
            streams: [stream()?, stream()?, stream()?],
            start: event(Timing::On)?,
            stop: event(Timing::On)?,
            order: [event(Timing::Off)?, event(Timing::Off)?, event(Timing::Off)?],
            empty: function(clockwork, c"empty")?,
            spin: function(clockwork, c"spin")?,
            spin_then_tell: function(clockwork, c"spin_then_tell")?,
            modules,
            memory: [allocate(BUFFER_BYTES)?, allocate(BUFFER_BYTES)?],
            pinned: [pin(BUFFER_BYTES)?, pin(BUFFER_BYTES)?],
            flag: pin(4 * KIB)?.cast(),
            told: Cell::new(0),
        };
        let sms =
            gpu.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        gpu.sms = usize::try_from(sms).map_err(|_| format!("{sms} multiprocessors"))?;
        for buffer in gpu.pinned {
            // SAFETY: the buffer is that long, and nothing else uses it.
            unsafe { buffer.write_bytes(1, BUFFER_BYTES) };
        }
        // SAFETY: it is a page of pinned memory.
        unsafe { gpu.flag.write_volatile(0) };
        for buffer in gpu.memory {
            call!(cuMemsetD8Async(buffer, 1, BUFFER_BYTES, gpu.streams[0]))?;
        }
        gpu.warm_up()?;
        Ok(gpu)
    }

    /// Raises the clocks and pays every first use.
    fn warm_up(&self) -> Outcome<()> {
        let [stream, ..] = self.streams;
        self.launch(self.empty, 1, 1, stream, &mut [])?;
        self.spin(stream, US)?;
        self.tell(stream, 0)?;
        for kernel in kernels::all() {
            // A kernel that cannot be loaded is reported where it is measured.
            if let Ok(function) = self.function(kernel) {
                match kernel.blocks {
                    Blocks::Any => {
                        self.map(function, self.sms * 8, 256, 64 * MIB / 4, 2, stream)?
                    }
                    Blocks::Exactly(blocks) => {
                        self.matmul(function, blocks, kernel.threads, stream)?
                    }
                }
            }
        }
        self.idle()?;
        let began = Instant::now();
        let map = self.function(&kernels::all()[0])?;
        while began.elapsed() < Duration::from_millis(300) {
            self.map(map, self.sms * 8, 256, self.sms * 8 * 2048, 10_001, stream)?;
            self.idle()?;
        }
        for bytes in [4 * KIB, 4 * MIB] {
            for direction in Direction::BOTH {
                self.copy(direction, self.pinned[0], self.memory[0], bytes, stream)?;
            }
        }
        self.idle()
    }

    fn attribute(&self, attribute: sys::CUdevice_attribute) -> Outcome<Figure> {
        let mut value = 0;
        call!(cuDeviceGetAttribute(&mut value, attribute, self.device))?;
        Ok(value.into())
    }

    fn function(&self, kernel: &Kernel) -> Outcome<CUfunction> {
        let found = self.modules.iter().find(|(image, _)| *image == kernel.image);
        let (_, module) =
            found.ok_or_else(|| format!("the image of `{}` was not loaded", kernel.name))?;
        function(module.clone()?, &CString::new(kernel.name).map_err(|error| error.to_string())?)
    }

    fn launch(
        &self,
        function: CUfunction,
        blocks: usize,
        threads: usize,
        stream: CUstream,
        arguments: &mut [u64],
    ) -> Outcome<()> {
        // The driver reads as many bytes as each parameter has: the low ones, for 32 bits, as on all
        // hosts that CUDA knows.
        let mut places = [ptr::null_mut::<c_void>(); 4];
        for (place, argument) in places.iter_mut().zip(arguments) {
            *place = ptr::from_mut(argument).cast();
        }
        call!(cuLaunchKernel(
            function,
            blocks as u32,
            1,
            1,
            threads as u32,
            1,
            1,
            0,
            stream,
            places.as_mut_ptr(),
            ptr::null_mut()
        ))
    }

    fn nothing(&self, stream: CUstream) -> Outcome<()> {
        self.launch(self.empty, 1, 1, stream, &mut [])
    }

    /// One thread that waits for so many nanoseconds.
    fn spin(&self, stream: CUstream, duration: u64) -> Outcome<()> {
        self.launch(self.spin, 1, 1, stream, &mut [duration])
    }

    /// Like `spin`, and writes a new value to the flag at its end; gives that value.
    fn tell(&self, stream: CUstream, duration: u64) -> Outcome<u32> {
        let value = self.told.get() + 1;
        self.told.set(value);
        self.launch(
            self.spin_then_tell,
            1,
            1,
            stream,
            &mut [duration, self.flag as u64, value.into()],
        )?;
        Ok(value)
    }

    /// In place in the first buffer.
    fn map(
        &self,
        function: CUfunction,
        blocks: usize,
        threads: usize,
        elements: usize,
        rounds: u32,
        stream: CUstream,
    ) -> Outcome<()> {
        let [memory, _] = self.memory;
        self.launch(
            function,
            blocks,
            threads,
            stream,
            &mut [memory, memory, elements as u64, rounds.into()],
        )
    }

    /// The factors and the product lie at the start of the first buffer, one after the other.
    fn matmul(
        &self,
        function: CUfunction,
        blocks: u32,
        threads: u32,
        stream: CUstream,
    ) -> Outcome<()> {
        let [a, _] = self.memory;
        let matrix = 4 * MIB as u64;
        self.launch(
            function,
            blocks as usize,
            threads as usize,
            stream,
            &mut [a, a + matrix, a + 2 * matrix],
        )
    }

    fn copy(
        &self,
        direction: Direction,
        host: *mut u8,
        device: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Outcome<()> {
        match direction {
            Direction::HostToDevice => {
                call!(cuMemcpyHtoDAsync_v2(device, host.cast_const().cast(), bytes, stream))
            }
            Direction::DeviceToHost => {
                call!(cuMemcpyDtoHAsync_v2(host.cast(), device, bytes, stream))
            }
        }
    }

    /// The `index`-th piece of the pinned and device buffers of this direction.
    fn copy_piece(
        &self,
        direction: Direction,
        index: usize,
        bytes: usize,
        stream: CUstream,
    ) -> Outcome<()> {
        let buffer = usize::from(direction == Direction::DeviceToHost);
        let offset = index * bytes % BUFFER_BYTES;
        let host = self.pinned[buffer].wrapping_add(offset);
        self.copy(direction, host, self.memory[buffer] + offset as u64, bytes, stream)
    }

    fn record(&self, event: CUevent, stream: CUstream) -> Outcome<()> {
        call!(cuEventRecord(event, stream))
    }

    fn wait(&self, stream: CUstream, event: CUevent) -> Outcome<()> {
        call!(cuStreamWaitEvent(stream, event, 0))
    }

    /// What `to` does next starts after what `from` has been given so far.
    fn order(&self, from: CUstream, to: CUstream, event: CUevent) -> Outcome<()> {
        self.record(event, from)?;
        self.wait(to, event)
    }

    fn synchronize(&self, stream: CUstream) -> Outcome<()> {
        call!(cuStreamSynchronize(stream))
    }

    fn idle(&self) -> Outcome<()> {
        call!(cuCtxSynchronize())
    }

    fn elapsed(&self, from: CUevent, to: CUevent) -> Outcome<Figure> {
        let mut milliseconds = 0.0_f32;
        call!(cuEventElapsedTime(&mut milliseconds, from, to))?;
        Ok((f64::from(milliseconds) * 1e6).round() as Figure)
    }

    /// Time on the device from the moment that `first` is free to the end of what `issue` gives `last`.
    ///
    /// A kernel of `gate` nanoseconds holds the first stream until all is issued, so that the host's pace
    /// plays no part. `issue` may let other streams wait for the event `start`.
    fn between(
        &self,
        gate: u64,
        first: CUstream,
        last: CUstream,
        issue: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<Figure> {
        self.idle()?;
        self.spin(first, gate)?;
        self.record(self.start, first)?;
        issue()?;
        self.record(self.stop, last)?;
        let late = is_ready(self.start)?;
        self.idle()?;
        if late {
            return Err(format!("not all was issued within the {gate} ns of the gate"));
        }
        self.elapsed(self.start, self.stop)
    }
}

#[derive(Clone, Copy)]
enum Timing {
    On,
    Off,
}

fn stream() -> Outcome<CUstream> {
    let mut stream = ptr::null_mut();
    call!(cuStreamCreate(&mut stream, 1))?; // CU_STREAM_NON_BLOCKING
    Ok(stream)
}

fn event(timing: Timing) -> Outcome<CUevent> {
    let mut event = ptr::null_mut();
    let flags = match timing {
        Timing::On => 0,
        Timing::Off => 2, // CU_EVENT_DISABLE_TIMING
    };
    call!(cuEventCreate(&mut event, flags))?;
    Ok(event)
}

fn is_ready(event: CUevent) -> Outcome<bool> {
    // SAFETY: the event exists.
    match unsafe { sys::cuEventQuery(event) } {
        CUresult::CUDA_SUCCESS => Ok(true),
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        code => Err(format!("cuEventQuery: {code:?}")),
    }
}

fn is_free(stream: CUstream) -> Outcome<bool> {
    // SAFETY: the stream exists.
    match unsafe { sys::cuStreamQuery(stream) } {
        CUresult::CUDA_SUCCESS => Ok(true),
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        code => Err(format!("cuStreamQuery: {code:?}")),
    }
}

fn load(image: &str) -> Outcome<CUmodule> {
    let image = CString::new(image).map_err(|error| error.to_string())?;
    let mut module = ptr::null_mut();
    call!(cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
    Ok(module)
}

fn function(module: CUmodule, name: &CStr) -> Outcome<CUfunction> {
    let mut function = ptr::null_mut();
    call!(cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
    Ok(function)
}

fn allocate(bytes: usize) -> Outcome<CUdeviceptr> {
    let mut pointer = 0;
    call!(cuMemAlloc_v2(&mut pointer, bytes))?;
    Ok(pointer)
}

fn free(pointer: CUdeviceptr) -> Outcome<()> {
    call!(cuMemFree_v2(pointer))
}

fn pin(bytes: usize) -> Outcome<*mut u8> {
    let mut pointer = ptr::null_mut();
    call!(cuMemHostAlloc(&mut pointer, bytes, 0))?;
    Ok(pointer.cast())
}

/// Pages of ordinary memory, never touched before: the allocator would hand out used ones.
struct Pages {
    pointer: *mut u8,
    bytes: usize,
}

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
}

impl Pages {
    fn fresh(bytes: usize) -> Outcome<Self> {
        const READ_WRITE: c_int = 1 | 2;
        const PRIVATE_ANONYMOUS: c_int = 2 | 0x20; // on Linux
        // SAFETY: the kernel chooses the address.
        let pointer = unsafe { mmap(ptr::null_mut(), bytes, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0) };
        if pointer.addr() == usize::MAX {
            return Err(format!("cannot map {bytes} bytes"));
        }
        Ok(Self { pointer: pointer.cast(), bytes })
    }

    fn warm(bytes: usize) -> Outcome<Self> {
        let pages = Self::fresh(bytes)?;
        // SAFETY: the mapping is that long and nothing else uses it.
        unsafe { pages.pointer.write_bytes(1, bytes) };
        Ok(pages)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `fresh`, and no copy from or to it is pending.
        unsafe { munmap(self.pointer.cast(), self.bytes) };
    }
}

// -------------------------------------------------------------------------------- the device, its limits

fn device(gpu: &Gpu, book: &Book) {
    use sys::CUdevice_attribute as A;

    let mut name = [0_u8; 256];
    let outcome =
        call!(cuDeviceGetName(name.as_mut_ptr().cast(), 256, gpu.device)).and_then(|()| {
            CStr::from_bytes_until_nul(&name)
                .map(|name| name.to_string_lossy().into_owned())
                .map_err(|e| e.to_string())
        });
    book.note("device_name".to_owned(), outcome.map(Value::from));
    // It decides what a fresh page costs.
    let pages = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let outcome = pages.map(|text| text.trim().to_owned()).map_err(|error| error.to_string());
    book.note("transparent_huge_pages".to_owned(), outcome.map(Value::from));

    book.measure("driver_cuda_version", || {
        let mut version = 0;
        call!(cuDriverGetVersion(&mut version))?;
        Ok(version.into())
    });
    book.measure("device_memory_total_bytes", || {
        let mut bytes = 0;
        call!(cuDeviceTotalMem_v2(&mut bytes, gpu.device))?;
        Ok(bytes as Figure)
    });
    let (mut lowest, mut highest) = (0, 0);
    let priorities = call!(cuCtxGetStreamPriorityRange(&mut lowest, &mut highest));
    book.measure("priority_lowest", || priorities.clone().map(|()| lowest.into()));
    book.measure("priority_highest", || priorities.map(|()| highest.into()));
    for (key, attribute) in [
        ("sm_count", A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        ("async_engine_count", A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT),
        ("compute_capability_major", A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        ("compute_capability_minor", A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ("threads_per_sm", A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        ("blocks_per_sm", A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        ("registers_per_sm", A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        ("shared_bytes_per_sm", A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        ("shared_bytes_per_block", A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        (
            "shared_bytes_reserved_per_block",
            A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
        ),
        ("l2_cache_bytes", A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        ("sm_clock_khz", A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        ("memory_clock_khz", A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
        ("memory_bus_bits", A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        ("memory_pools_supported", A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
        ("pageable_memory_access", A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS),
    ] {
        book.measure(key, || gpu.attribute(attribute));
    }
}

fn functions(gpu: &Gpu, book: &Book) {
    use sys::CUfunction_attribute_enum as A;

    for kernel in kernels::all() {
        for (key, attribute) in [
            ("registers", A::CU_FUNC_ATTRIBUTE_NUM_REGS),
            ("shared_bytes", A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
            ("local_bytes", A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        ] {
            book.measure(format!("function_{}_{key}", kernel.name), || {
                let mut value = 0;
                call!(cuFuncGetAttribute(&mut value, attribute, gpu.function(kernel)?))?;
                Ok(value.into())
            });
        }
        book.measure(format!("function_{}_resident_blocks_per_sm", kernel.name), || {
            let (function, threads) = (gpu.function(kernel)?, kernel.threads as c_int);
            let mut blocks = 0;
            call!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, 0))?;
            Ok(blocks.into())
        });
    }
}

// ---------------------------------------------------------------------------------------------- kernels

/// The kernels against what the host computes.
fn correctness(gpu: &Gpu, book: &Book) {
    let [stream, ..] = gpu.streams;

    for kernel in kernels::all().iter().filter(|kernel| kernel.rate == "map") {
        book.measure(format!("map_wrong_elements_{}", kernel.name), || {
            let function = gpu.function(kernel)?;
            let twin = kernel.twin().ok_or("it has no twin")?;
            let mut wrong = 0;
            // The lengths end in every stage of the kernel's loops, the rounds as well.
            for (elements, rounds, blocks) in [
                (MIB, 0_u32, 1056),
                (MIB, 1, 132),
                (MIB, 15, 7),
                (MIB, 16, 1056),
                (MIB - 3, 17, 1000),
                (MIB - 257, 1001, 1056),
                (MIB, 100_003, 5000),
                (1, 33, 3),
            ] {
                let bytes = 4 * elements;
                let input: Vec<u8> =
                    (0..bytes).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
                let [memory, other] = gpu.memory;
                let [host, _] = gpu.pinned;
                // SAFETY: both are that long and do not overlap; nothing else uses the pinned one.
                unsafe { ptr::copy_nonoverlapping(input.as_ptr(), host, bytes) };
                gpu.copy(Direction::HostToDevice, host, memory, bytes, stream)?;
                let mut arguments = [memory, other, elements as u64, rounds.into()];
                gpu.launch(function, blocks, 256, stream, &mut arguments)?;
                gpu.copy(Direction::DeviceToHost, host, other, bytes, stream)?;
                gpu.synchronize(stream)?;
                let arguments = [
                    Argument::Pointer(memory),
                    Argument::Pointer(other),
                    Argument::U32(elements as u32),
                    Argument::U32(rounds),
                ];
                let mut expected = vec![vec![0; bytes]];
                twin(&arguments, &[&input], &mut expected);
                // SAFETY: the copy into it is complete, and it is that long.
                let got = unsafe { std::slice::from_raw_parts(host, bytes) };
                wrong += expected[0].chunks(4).zip(got.chunks(4)).filter(|(a, b)| a != b).count();
            }
            Ok(wrong as Figure)
        });
    }

    const N: usize = 1024;
    // Small integers: every partial sum is exact in a float, so the order of additions plays no part.
    let entry =
        |i: usize, salt: usize| ((i.wrapping_mul(2_654_435_761) ^ salt) >> 11 & 15) as i32 - 8;
    let a: Vec<i32> = (0..N * N).map(|i| entry(i, 0)).collect();
    let b: Vec<i32> = (0..N * N).map(|i| entry(i, 0x5555_5555)).collect();
    let mut expected = vec![0_i32; N * N];
    for (row, sums) in expected.chunks_mut(N).enumerate() {
        for (k, factors) in b.chunks(N).enumerate() {
            let factor = a[row * N + k];
            for (sum, other) in sums.iter_mut().zip(factors) {
                *sum += factor * other;
            }
        }
    }
    for kernel in kernels::all().iter().filter(|kernel| kernel.rate == "matmul") {
        book.measure(format!("{}_wrong_entries", kernel.name), || {
            let Blocks::Exactly(blocks) = kernel.blocks else {
                return Err("its grid is not fixed".to_owned());
            };
            let function = gpu.function(kernel)?;
            let host = gpu.pinned[0].cast::<f32>();
            for (i, value) in a.iter().chain(&b).enumerate() {
                // SAFETY: two matrices fit into the buffer, which is aligned to a page.
                unsafe { host.add(i).write(*value as f32) };
            }
            gpu.copy(Direction::HostToDevice, host.cast(), gpu.memory[0], 8 * N * N, stream)?;
            let product = gpu.memory[0] + 8 * (N * N) as u64;
            call!(cuMemsetD8Async(product, 0xff, 4 * N * N, stream))?; // not a number anywhere
            gpu.matmul(function, blocks, kernel.threads, stream)?;
            gpu.copy(Direction::DeviceToHost, host.cast(), product, 4 * N * N, stream)?;
            gpu.synchronize(stream)?;
            // SAFETY: the copy into it is complete, and it is that long.
            let got = unsafe { std::slice::from_raw_parts(host, N * N) };
            Ok(got
                .iter()
                .zip(&expected)
                .filter(|(got, expected)| **got != **expected as f32)
                .count() as Figure)
        });
    }
}

fn matmul(gpu: &Gpu, book: &Book) {
    const LAUNCHES: usize = 100;
    let [stream, ..] = gpu.streams;
    for kernel in kernels::all().iter().filter(|kernel| kernel.rate == "matmul") {
        let Blocks::Exactly(blocks) = kernel.blocks else { continue };
        book.measure(format!("{}_period_ns", kernel.name), || {
            let function = gpu.function(kernel)?;
            median(REPETITIONS, || {
                gpu.between(2 * MS, stream, stream, || {
                    (0..LAUNCHES)
                        .try_for_each(|_| gpu.matmul(function, blocks, kernel.threads, stream))
                })
                .map(|total| per(total, LAUNCHES))
            })
        });
        book.measure(format!("{}_alone_ns", kernel.name), || {
            let function = gpu.function(kernel)?;
            median(REPETITIONS, || {
                gpu.between(200 * US, stream, stream, || {
                    gpu.matmul(function, blocks, kernel.threads, stream)
                })
            })
        });
    }
}

/// How the maps' rate depends on the blocks.
fn map_rates(gpu: &Gpu, book: &Book) {
    /// At 64 multiply-adds per cycle and SM, a block of 2048 elements takes about half a millisecond.
    const ROUNDS: u32 = 32_769;
    const ELEMENTS_PER_THREAD: usize = 8; // two turns of the four chains
    let [stream, ..] = gpu.streams;
    let kernel = &kernels::all()[0];
    let time = |blocks: usize, threads: usize, elements: usize, rounds: u32| {
        let function = gpu.function(kernel)?;
        median(REPETITIONS, || {
            gpu.between(100 * US, stream, stream, || {
                gpu.map(function, blocks, threads, elements, rounds, stream)
            })
        })
    };
    let rate = |elements: usize, ns: Figure| {
        (elements as Figure) * Figure::from(ROUNDS) * 1000 / ns.max(1)
    };

    for threads in [32, 64, 128, 256] {
        let elements = threads * ELEMENTS_PER_THREAD;
        let key = format!("map_1_block_of_{threads}_threads");
        if let Some(ns) = book.measure(format!("{key}_ns"), || time(1, threads, elements, ROUNDS)) {
            let warps = (threads / 32) as Figure;
            book.measure(format!("{key}_element_rounds_per_us_per_warp"), || {
                Ok(rate(elements, ns) / warps)
            });
        }
    }
    for per_sm in 1..=16 {
        let blocks = gpu.sms * per_sm;
        let elements = blocks * 256 * ELEMENTS_PER_THREAD;
        let key = format!("map_{per_sm}_blocks_per_sm");
        if let Some(ns) = book.measure(format!("{key}_ns"), || time(blocks, 256, elements, ROUNDS))
        {
            let sms = gpu.sms as Figure;
            book.measure(format!("{key}_element_rounds_per_us_per_sm"), || {
                Ok(rate(elements, ns) / sms)
            });
        }
    }
    // Around full residency: one block more than fits.
    let resident = gpu.sms * 8;
    for blocks in [gpu.sms / 2, gpu.sms + 1, resident - 1, resident + 1, resident + gpu.sms / 2] {
        book.measure(format!("map_{blocks}_blocks_ns"), || {
            time(blocks, 256, blocks * 256 * ELEMENTS_PER_THREAD, ROUNDS)
        });
    }
    // One element per thread: a single chain of dependent multiply-adds.
    for per_sm in [1, 2, 4, 8, 16] {
        let blocks = gpu.sms * per_sm;
        book.measure(format!("map_{per_sm}_blocks_per_sm_1_element_per_thread_ns"), || {
            time(blocks, 256, blocks * 256, ROUNDS)
        });
    }
    book.measure("map_empty_grid_of_1_block_ns", || time(1, 256, 0, 0));
    book.measure("map_empty_grid_of_8_blocks_per_sm_ns", || time(resident, 256, 0, 0));
    book.measure("map_empty_grid_of_64_blocks_per_sm_ns", || time(8 * resident, 256, 0, 0));
    for other in kernels::all().iter().filter(|kernel| kernel.rate == "map") {
        book.measure(format!("{}_8_blocks_per_sm_ns", other.name), || {
            let (function, elements) = (gpu.function(other)?, resident * 256 * ELEMENTS_PER_THREAD);
            median(REPETITIONS, || {
                gpu.between(100 * US, stream, stream, || {
                    gpu.map(function, resident, 256, elements, ROUNDS, stream)
                })
            })
        });
    }
}

/// Device memory, by maps of few rounds.
fn memory_rates(gpu: &Gpu, book: &Book) {
    const ELEMENTS: usize = BUFFER_BYTES / 4;
    let [stream, ..] = gpu.streams;
    let kernel = &kernels::all()[0];
    let time = |blocks: usize, elements: usize, rounds: u32, out: usize| {
        let function = gpu.function(kernel)?;
        median(REPETITIONS, || {
            gpu.between(100 * US, stream, stream, || {
                let mut arguments =
                    [gpu.memory[0], gpu.memory[out], elements as u64, rounds.into()];
                gpu.launch(function, blocks, 256, stream, &mut arguments)
            })
        })
    };
    for rounds in [0, 1, 4, 8, 16, 24, 32, 48, 64, 128] {
        book.measure(format!("map_64Mi_elements_in_place_{rounds}_rounds_ns"), || {
            time(gpu.sms * 8, ELEMENTS, rounds, 0)
        });
    }
    let mut best = Figure::MAX;
    for per_sm in [1, 2, 4, 8, 16, 32] {
        let key = format!("map_64Mi_elements_0_rounds_{per_sm}_blocks_per_sm_ns");
        best = book
            .measure(key, || time(gpu.sms * per_sm, ELEMENTS, 0, 1))
            .map_or(best, |ns| ns.min(best));
    }
    book.measure("device_memory_bytes_per_us", || Ok(2 * BUFFER_BYTES as Figure * 1000 / best));
    book.measure("map_64Ki_elements_0_rounds_1_block_ns", || time(1, 64 * KIB, 0, 1));
    book.measure("map_1Mi_elements_0_rounds_8_blocks_per_sm_ns", || time(gpu.sms * 8, MIB, 0, 1));
    book.measure("memset_256MiB_ns", || {
        median(REPETITIONS, || {
            gpu.between(100 * US, stream, stream, || {
                call!(cuMemsetD8Async(gpu.memory[1], 1, BUFFER_BYTES, stream))
            })
        })
    });
    for bytes in [4 * KIB, MIB] {
        book.measure(format!("memset_{bytes}_bytes_ns"), || {
            median(REPETITIONS, || {
                gpu.between(100 * US, stream, stream, || {
                    call!(cuMemsetD8Async(gpu.memory[1], 1, bytes, stream))
                })
            })
        });
    }
}

// ----------------------------------------------------------------------------------------------- copies

fn pinned_copies(gpu: &Gpu, book: &Book) {
    let [stream, ..] = gpu.streams;
    for direction in Direction::BOTH {
        let prefix = format!("copy_{}_pinned", direction.short());
        let mut by_events = Vec::new();
        for bytes in [4 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB] {
            let figure = book.measure(format!("{prefix}_{bytes}_bytes_events_ns"), || {
                median(REPETITIONS, || {
                    gpu.between(100 * US, stream, stream, || {
                        gpu.copy_piece(direction, 0, bytes, stream)
                    })
                })
            });
            by_events.push((bytes as Figure, figure));
            book.measure(format!("{prefix}_{bytes}_bytes_host_ns"), || {
                median(REPETITIONS, || {
                    gpu.idle()?;
                    held(|| {
                        gpu.copy_piece(direction, 0, bytes, stream)?;
                        gpu.synchronize(stream)
                    })
                })
            });
        }
        let find = |bytes: usize| {
            by_events.iter().find(|(b, _)| *b == bytes as Figure).and_then(|(_, ns)| *ns)
        };
        // From the slope between two large copies; the rest of a small one is its fixed part.
        if let (Some(small), Some(middle), Some(large)) =
            (find(MIB), find(16 * MIB), find(256 * MIB))
        {
            let rate = (240 * MIB) as Figure * 1000 / (large - middle).max(1);
            book.measure(format!("{prefix}_bytes_per_us"), || Ok(rate));
            book.measure(format!("{prefix}_fixed_ns"), || {
                Ok(small - MIB as Figure * 1000 / rate.max(1))
            });
        }
    }
}

/// Many copies one after the other: the period against the bytes gives the overhead of each.
fn copy_sequences(gpu: &Gpu, book: &Book) {
    let [first, second, _] = gpu.streams;
    for direction in Direction::BOTH {
        let prefix = format!("copy_{}_pinned", direction.short());
        for (count, bytes) in [(200, 4 * KIB), (200, 64 * KIB), (64, MIB), (64, 4 * MIB)] {
            book.measure(
                format!("{prefix}_{count}_in_one_stream_of_{bytes}_bytes_total_ns"),
                || {
                    median(REPETITIONS, || {
                        gpu.between(3 * MS, first, first, || {
                            (0..count).try_for_each(|i| gpu.copy_piece(direction, i, bytes, first))
                        })
                    })
                },
            );
            book.measure(
                format!("{prefix}_{count}_in_two_streams_of_{bytes}_bytes_total_ns"),
                || {
                    median(REPETITIONS, || {
                        gpu.between(3 * MS, first, first, || {
                            gpu.wait(second, gpu.start)?;
                            for i in 0..count {
                                gpu.copy_piece(
                                    direction,
                                    i,
                                    bytes,
                                    if i % 2 == 0 { first } else { second },
                                )?;
                            }
                            gpu.order(second, first, gpu.order[0])
                        })
                    })
                },
            );
        }
    }
}

/// Both directions at once.
fn duplex(gpu: &Gpu, book: &Book) {
    let [up, down, _] = gpu.streams;
    let Ok(up_stop) = event(Timing::On) else { return };
    for (count, bytes) in [(64, 4 * MIB), (8, 64 * MIB)] {
        // The longer of the two runs its last part alone; so both figures are kept.
        let mut totals = [Vec::new(), Vec::new()];
        let outcome = (0..REPETITIONS).try_for_each(|_| {
            let total = gpu.between(3 * MS, up, down, || {
                gpu.wait(down, gpu.start)?;
                for i in 0..count {
                    gpu.copy_piece(Direction::HostToDevice, i, bytes, up)?;
                    gpu.copy_piece(Direction::DeviceToHost, i, bytes, down)?;
                }
                gpu.record(up_stop, up)
            })?;
            totals[0].push(gpu.elapsed(gpu.start, up_stop)?);
            totals[1].push(total);
            Ok::<_, String>(())
        });
        for (direction, mut totals) in Direction::BOTH.into_iter().zip(totals) {
            let key = format!("duplex_{}_{count}_copies_of_{bytes}_bytes", direction.short());
            totals.sort_unstable();
            book.measure(format!("{key}_both_ways_total_ns"), || {
                outcome.clone().map(|()| totals[REPETITIONS / 2])
            });
            book.measure(format!("{key}_alone_total_ns"), || {
                median(REPETITIONS, || {
                    gpu.between(3 * MS, up, up, || {
                        (0..count).try_for_each(|i| gpu.copy_piece(direction, i, bytes, up))
                    })
                })
            });
        }
    }
}

/// Copies beside kernels that use device memory, and beside kernels that do not.
fn contention(gpu: &Gpu, book: &Book) {
    const COPIES: usize = 64;
    let [copies, kernels_stream, _] = gpu.streams;
    let kernel = &kernels::all()[0];
    // About 15 ms of kernels beside 5 ms of copies.
    for (label, rounds, launches) in [("memory_bound", 1, 100), ("compute_bound", 2001, 12)] {
        for direction in Direction::BOTH {
            let key = format!(
                "copy_{}_pinned_64_of_4MiB_beside_{label}_kernels_total_ns",
                direction.short()
            );
            book.measure(key, || {
                let function = gpu.function(kernel)?;
                median(REPETITIONS, || {
                    gpu.between(3 * MS, copies, copies, || {
                        gpu.wait(kernels_stream, gpu.start)?;
                        for i in 0..COPIES.max(launches) {
                            if i < launches {
                                gpu.map(
                                    function,
                                    gpu.sms * 8,
                                    256,
                                    BUFFER_BYTES / 4,
                                    rounds,
                                    kernels_stream,
                                )?;
                            }
                            if i < COPIES {
                                // The other buffer: the kernels work in place in the first.
                                let offset = i * 4 * MIB;
                                let host = gpu.pinned[0].wrapping_add(offset);
                                gpu.copy(
                                    direction,
                                    host,
                                    gpu.memory[1] + offset as u64,
                                    4 * MIB,
                                    copies,
                                )?;
                            }
                        }
                        Ok(())
                    })
                })
            });
        }
        book.measure(format!("map_64Mi_elements_{label}_kernel_ns"), || {
            let function = gpu.function(kernel)?;
            median(REPETITIONS, || {
                gpu.between(100 * US, copies, copies, || {
                    gpu.map(function, gpu.sms * 8, 256, BUFFER_BYTES / 4, rounds, copies)
                })
            })
        });
    }
}

fn pageable_copies(gpu: &Gpu, book: &Book) {
    const AHEAD: u64 = 5 * MS; // far more than the host's part of a staged copy
    const LARGEST: usize = 64 * MIB;
    let [stream, ..] = gpu.streams;
    let pages = match Pages::warm(LARGEST) {
        Ok(pages) => pages,
        Err(error) => return book.note("copy_pageable".to_owned(), Err(error)),
    };
    for direction in Direction::BOTH {
        let prefix = format!("copy_{}_pageable", direction.short());
        let copy = |bytes| gpu.copy(direction, pages.pointer, gpu.memory[0], bytes, stream);
        let behind_a_kernel = |bytes| {
            gpu.idle()?;
            gpu.spin(stream, AHEAD)?;
            let figure = held(|| copy(bytes))?;
            gpu.idle()?;
            Ok::<_, String>(figure)
        };
        for kib in [1, 4, 16, 32, 64, 65, 128, 256, 512, 1024, 4096, 16_384, 65_536] {
            let bytes = kib * KIB;
            book.measure(format!("{prefix}_{bytes}_bytes_call_ns"), || {
                median(REPETITIONS, || {
                    gpu.idle()?;
                    held(|| copy(bytes))
                })
            });
            book.measure(format!("{prefix}_{bytes}_bytes_total_ns"), || {
                median(REPETITIONS, || {
                    gpu.idle()?;
                    held(|| {
                        copy(bytes)?;
                        gpu.synchronize(stream)
                    })
                })
            });
            book.measure(format!("{prefix}_{bytes}_bytes_call_behind_5ms_kernel_ns"), || {
                median(REPETITIONS, || behind_a_kernel(bytes))
            });
        }
        book.measure(format!("{prefix}_staged_at_most_bytes"), || {
            let returns_early =
                |bytes| behind_a_kernel(bytes).map(|held| held < AHEAD as Figure / 2);
            if returns_early(LARGEST)? {
                return Ok(LARGEST as Figure);
            }
            if !returns_early(1)? {
                return Ok(0);
            }
            let (mut early, mut late) = (1, LARGEST);
            while late - early > 1 {
                let middle = early + (late - early) / 2;
                if returns_early(middle)? { early = middle } else { late = middle }
            }
            Ok(early as Figure)
        });
    }
}

/// One buffer after another, as programs copy: what is copied is in no cache of the processor.
fn pageable_copies_in_turn(gpu: &Gpu, book: &Book) {
    const ALL: usize = 1024 * MIB; // several times the largest cache of a processor
    let [stream, ..] = gpu.streams;
    let pages = match Pages::warm(ALL) {
        Ok(pages) => pages,
        Err(error) => return book.note("copy_pageable_in_turn".to_owned(), Err(error)),
    };
    for direction in Direction::BOTH {
        for kib in [64, 256, 1024, 2048, 4096, 8192, 16_384, 65_536] {
            let bytes = kib * KIB;
            let prefix = format!("copy_{}_pageable_in_turn_{bytes}_bytes", direction.short());
            let mut offset = 0;
            book.measure(format!("{prefix}_call_ns"), || {
                median(REPETITIONS, || {
                    gpu.idle()?;
                    offset = (offset + bytes) % ALL;
                    // SAFETY: the offset stays inside the pages, and so does the block that starts there.
                    let block = unsafe { pages.pointer.byte_add(offset) };
                    held(|| gpu.copy(direction, block, gpu.memory[0], bytes, stream))
                })
            });
        }
    }
}

/// Memory that the process has never touched, against memory that it has.
fn fresh_pages(gpu: &Gpu, book: &Book) {
    const BYTES: usize = 4 * MIB;
    let [stream, ..] = gpu.streams;
    for direction in Direction::BOTH {
        let prefix = format!("copy_{}_pageable_{BYTES}_bytes", direction.short());
        let copy_to = |pages: &Pages| {
            gpu.idle()?;
            held(|| {
                gpu.copy(direction, pages.pointer, gpu.memory[0], BYTES, stream)?;
                gpu.synchronize(stream)
            })
        };
        book.measure(format!("{prefix}_fresh_pages_total_ns"), || {
            median(REPETITIONS, || copy_to(&Pages::fresh(BYTES)?))
        });
        book.measure(format!("{prefix}_new_but_touched_pages_total_ns"), || {
            median(REPETITIONS, || copy_to(&Pages::warm(BYTES)?))
        });
        book.measure(format!("{prefix}_reused_pages_total_ns"), || {
            let pages = Pages::warm(BYTES)?;
            copy_to(&pages)?;
            median(REPETITIONS, || copy_to(&pages))
        });
    }
}

// ------------------------------------------------------------------------------------------- host calls

unsafe extern "C" fn do_nothing(_: *mut c_void) {}

/// A call with the name that its key gets.
type NamedCall<'a> = (&'a str, Box<dyn Fn() -> Outcome<()> + 'a>);

/// Calls that put work into a stream or ask about it.
fn stream_calls<'a>(gpu: &'a Gpu, complete: CUevent, pending: CUevent) -> Vec<NamedCall<'a>> {
    let [stream, ..] = gpu.streams;
    let [recorded, ..] = gpu.order;
    vec![
        ("launch", Box::new(move || gpu.nothing(stream))),
        (
            "h2d_pinned_4KiB",
            Box::new(move || gpu.copy_piece(Direction::HostToDevice, 0, 4 * KIB, stream)),
        ),
        (
            "d2h_pinned_4KiB",
            Box::new(move || gpu.copy_piece(Direction::DeviceToHost, 0, 4 * KIB, stream)),
        ),
        (
            "h2d_pinned_64KiB",
            Box::new(move || gpu.copy_piece(Direction::HostToDevice, 0, 64 * KIB, stream)),
        ),
        (
            "memset_4KiB",
            Box::new(move || call!(cuMemsetD8Async(gpu.memory[0], 0, 4 * KIB, stream))),
        ),
        ("event_record", Box::new(move || gpu.record(recorded, stream))),
        ("event_record_timed", Box::new(move || gpu.record(gpu.stop, stream))),
        ("stream_wait_complete_event", Box::new(move || gpu.wait(stream, complete))),
        ("stream_wait_pending_event", Box::new(move || gpu.wait(stream, pending))),
        ("event_query_complete", Box::new(move || is_ready(complete).map(drop))),
        ("event_query_pending", Box::new(move || is_ready(pending).map(drop))),
        ("stream_query", Box::new(move || is_free(stream).map(drop))),
        (
            "launch_host_func",
            Box::new(move || call!(cuLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()))),
        ),
    ]
}

/// One call at a time, the device idle before each.
fn host_calls_idle(gpu: &Gpu, book: &Book) {
    const CALLS: usize = 101;
    let [stream, ..] = gpu.streams;
    let [_, complete, _] = gpu.order;
    if let Err(error) = gpu.record(complete, stream).and_then(|()| gpu.idle()) {
        return book.note("call_idle".to_owned(), Err(error));
    }
    for (name, call) in stream_calls(gpu, complete, complete) {
        if name.ends_with("pending") || name.contains("pending_") {
            continue; // nothing is pending on an idle device
        }
        book.measure(format!("call_{name}_idle_ns"), || {
            median(CALLS, || {
                gpu.idle()?;
                held(&call)
            })
        });
    }
    let calls: [NamedCall<'_>; 5] = [
        ("stream_synchronize", Box::new(|| gpu.synchronize(stream))),
        ("event_synchronize", Box::new(|| call!(cuEventSynchronize(complete)))),
        ("ctx_synchronize", Box::new(|| gpu.idle())),
        (
            "ctx_get_current",
            Box::new(|| {
                let mut context = ptr::null_mut();
                call!(cuCtxGetCurrent(&mut context))
            }),
        ),
        (
            "mem_get_info",
            Box::new(|| {
                let (mut free, mut total) = (0, 0);
                call!(cuMemGetInfo_v2(&mut free, &mut total))
            }),
        ),
    ];
    for (name, call) in calls {
        book.measure(format!("call_{name}_idle_ns"), || {
            gpu.idle()?;
            median(REPETITIONS, || {
                held(|| (0..CALLS).try_for_each(|_| call())).map(|total| per(total, CALLS))
            })
        });
    }
    let destroy_stream = |stream| call!(cuStreamDestroy_v2(stream));
    makes_and_ends(
        book,
        CALLS,
        "call_stream_create_ns",
        "call_stream_destroy_ns",
        self::stream,
        destroy_stream,
    );
    let untimed = || event(Timing::Off);
    let destroy_event = |event| call!(cuEventDestroy_v2(event));
    makes_and_ends(
        book,
        CALLS,
        "call_event_create_ns",
        "call_event_destroy_ns",
        untimed,
        destroy_event,
    );
}

/// The cost of making a thing and of ending it, one after the other.
fn makes_and_ends<T>(
    book: &Book,
    repetitions: usize,
    make_key: &str,
    end_key: &str,
    make: impl Fn() -> Outcome<T>,
    end: impl Fn(T) -> Outcome<()>,
) {
    let mut ends = Vec::new();
    book.measure(make_key, || {
        median(repetitions, || {
            let began = Instant::now();
            let made = make()?;
            let figure = nanoseconds(began.elapsed());
            ends.push(held(|| end(made))?);
            Ok(figure)
        })
    });
    book.measure(end_key, || {
        ends.sort_unstable();
        ends.get(ends.len() / 2).copied().ok_or_else(|| "nothing was made".to_owned())
    });
}

/// Many calls behind a kernel that runs all the while.
fn host_calls_busy(gpu: &Gpu, book: &Book) {
    const CALLS: usize = 200; // well below the 1022 commands after which a launch blocks
    const AHEAD: u64 = 8 * MS;
    let [stream, other, _] = gpu.streams;
    let [_, complete, pending] = gpu.order;
    for (name, call) in stream_calls(gpu, complete, pending) {
        book.measure(format!("call_{name}_busy_ns"), || {
            gpu.record(complete, other)?;
            median(REPETITIONS, || {
                gpu.idle()?;
                gpu.spin(other, AHEAD)?;
                gpu.record(pending, other)?;
                gpu.spin(stream, AHEAD)?;
                let total = held(|| (0..CALLS).try_for_each(|_| call()))?;
                let ended = is_free(stream)?;
                gpu.idle()?;
                if ended {
                    return Err(format!(
                        "{CALLS} calls took {total} ns, longer than the kernel ahead of them"
                    ));
                }
                Ok(per(total, CALLS))
            })
        });
    }
    book.measure("call_launch_over_full_queue_1500_launches_behind_8ms_ns", || {
        median(REPETITIONS, || {
            gpu.idle()?;
            gpu.spin(stream, AHEAD)?;
            let total = held(|| (0..1500).try_for_each(|_| gpu.nothing(stream)))?;
            gpu.idle()?;
            Ok(total)
        })
    });
}

fn host_allocations(gpu: &Gpu, book: &Book) {
    let [stream, ..] = gpu.streams;
    for (name, bytes) in [("1MiB", MIB), ("256MiB", 256 * MIB)] {
        makes_and_ends(
            book,
            REPETITIONS,
            &format!("call_mem_alloc_{name}_ns"),
            &format!("call_mem_free_{name}_ns"),
            || allocate(bytes),
            free,
        );
        let take = || {
            let mut pointer = 0;
            call!(cuMemAllocAsync(&mut pointer, bytes, stream)).map(|()| pointer)
        };
        let back = |pointer| call!(cuMemFreeAsync(pointer, stream));
        // Freed and not synchronised: the pool still has the memory.
        makes_and_ends(
            book,
            REPETITIONS,
            &format!("call_mem_alloc_async_{name}_from_pool_ns"),
            &format!("call_mem_free_async_{name}_to_pool_ns"),
            take,
            back,
        );
        // A synchronisation gives the pool's memory back to the device.
        makes_and_ends(
            book,
            REPETITIONS,
            &format!("call_mem_alloc_async_{name}_new_ns"),
            &format!("call_mem_free_async_{name}_and_synchronize_ns"),
            take,
            |pointer| back(pointer).and_then(|()| gpu.synchronize(stream)),
        );
    }
    for (name, bytes) in [
        ("64KiB", 64 * KIB),
        ("1MiB", MIB),
        ("4MiB", 4 * MIB),
        ("16MiB", 16 * MIB),
        ("64MiB", 64 * MIB),
    ] {
        makes_and_ends(
            book,
            REPETITIONS,
            &format!("call_mem_host_alloc_{name}_ns"),
            &format!("call_mem_free_host_{name}_ns"),
            || pin(bytes),
            |pointer| call!(cuMemFreeHost(pointer.cast())),
        );
    }
}

fn module_loads(_: &Gpu, book: &Book) {
    let images =
        [("clockwork", CLOCKWORK.to_str().unwrap_or_default()), ("map", kernels::map::IMAGE)];
    for (name, image) in images.into_iter().chain([("matmul", kernels::matmul::IMAGE)]) {
        // Each was loaded before: the driver's cache of compiled code answers where it is enabled.
        makes_and_ends(
            book,
            REPETITIONS,
            &format!("call_module_load_{name}_again_ns"),
            &format!("call_module_unload_{name}_ns"),
            || load(image),
            |module| call!(cuModuleUnload(module)),
        );
    }
}

// -------------------------------------------------------------------------------- latencies, device side

/// Between host and device.
fn latencies(gpu: &Gpu, book: &Book) {
    const TRIES: usize = 101;
    let [stream, ..] = gpu.streams;
    let flag = gpu.flag.expose_provenance();
    let told = move |value: u32| {
        let flag = ptr::with_exposed_provenance::<u32>(flag);
        let began = Instant::now();
        // SAFETY: the page stays pinned; the device writes the word, so every read is a volatile one.
        while unsafe { flag.read_volatile() } != value {
            if began.elapsed() > Duration::from_secs(1) {
                return Err("the kernel did not tell".to_owned());
            }
            std::hint::spin_loop();
        }
        Ok(Instant::now())
    };

    book.measure("latency_launch_call_to_kernel_told_ns", || {
        median(TRIES, || {
            gpu.idle()?;
            let began = Instant::now();
            let value = gpu.tell(stream, 0)?;
            Ok(nanoseconds(told(value)?.duration_since(began)))
        })
    });
    type Sync<'a> = (&'a str, Box<dyn Fn() -> Outcome<()> + 'a>);
    let ways: [Sync<'_>; 3] = [
        ("stream_synchronize", Box::new(|| gpu.synchronize(stream))),
        ("ctx_synchronize", Box::new(|| gpu.idle())),
        ("event_synchronize", Box::new(|| call!(cuEventSynchronize(gpu.order[0])))),
    ];
    for (name, wait) in &ways {
        for (label, duration) in [("200us", 200 * US), ("5ms", 5 * MS)] {
            // The write travels to the host too, so this is the part of the driver alone.
            book.measure(format!("latency_{label}_kernel_told_to_{name}_return_ns"), || {
                median(TRIES / 3, || {
                    gpu.idle()?;
                    let value = gpu.tell(stream, duration)?;
                    gpu.record(gpu.order[0], stream)?;
                    std::thread::scope(|scope| {
                        let watcher = scope.spawn(move || told(value));
                        wait()?;
                        let returned = Instant::now();
                        let told =
                            watcher.join().map_err(|_| "the watcher panicked".to_owned())??;
                        Ok(match returned.checked_duration_since(told) {
                            Some(after) => nanoseconds(after),
                            None => -nanoseconds(told.duration_since(returned)),
                        })
                    })
                })
            });
        }
    }
    type Round<'a> = (&'a str, Box<dyn Fn() -> Outcome<()> + 'a>);
    let rounds: [Round<'_>; 6] = [
        ("empty_kernel", Box::new(|| gpu.nothing(stream))),
        ("event_record", Box::new(|| gpu.record(gpu.order[0], stream))),
        (
            "h2d_pinned_4KiB",
            Box::new(|| gpu.copy_piece(Direction::HostToDevice, 0, 4 * KIB, stream)),
        ),
        (
            "d2h_pinned_4KiB",
            Box::new(|| gpu.copy_piece(Direction::DeviceToHost, 0, 4 * KIB, stream)),
        ),
        ("memset_4KiB", Box::new(|| call!(cuMemsetD8Async(gpu.memory[0], 0, 4 * KIB, stream)))),
        (
            "host_func",
            Box::new(|| call!(cuLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()))),
        ),
    ];
    for (name, issue) in &rounds {
        book.measure(format!("latency_{name}_and_stream_synchronize_ns"), || {
            median(TRIES, || {
                gpu.idle()?;
                held(|| {
                    issue()?;
                    gpu.synchronize(stream)
                })
            })
        });
    }
    // The host's share of a spin kernel's excess over its duration: launch, start, return.
    book.measure("latency_1ms_kernel_and_stream_synchronize_ns", || {
        median(TRIES / 3, || {
            gpu.idle()?;
            held(|| {
                gpu.spin(stream, MS)?;
                gpu.synchronize(stream)
            })
        })
    });
}

/// Pauses of the device between dependent operations. `hop` figures time one occurrence between two
/// events, `chain` figures the period of a long sequence.
fn device_gaps(gpu: &Gpu, book: &Book) {
    const TRIES: usize = 51;
    const CHAIN: usize = 200;
    const GATE: u64 = 6 * MS; // a chain is at most 1200 calls of less than 5 µs
    let [first, second, _] = gpu.streams;
    let [there, back, _] = gpu.order;
    let nothing = |stream| gpu.nothing(stream);
    let up = |stream| gpu.copy_piece(Direction::HostToDevice, 0, 4 * KIB, stream);
    let down = |stream| gpu.copy_piece(Direction::DeviceToHost, 0, 4 * KIB, stream);
    let cross = || gpu.order(first, second, there);

    type Issue<'a> = Box<dyn Fn() -> Outcome<()> + 'a>;
    let hops: [(&str, CUstream, Issue<'_>); 15] = [
        ("two_events", first, Box::new(|| Ok(()))),
        ("two_events_across_streams", second, Box::new(cross)),
        ("kernel", first, Box::new(|| nothing(first))),
        ("h2d", first, Box::new(|| up(first))),
        ("d2h", first, Box::new(|| down(first))),
        ("kernel_kernel", first, Box::new(|| nothing(first).and_then(|()| nothing(first)))),
        ("h2d_kernel", first, Box::new(|| up(first).and_then(|()| nothing(first)))),
        ("kernel_d2h", first, Box::new(|| nothing(first).and_then(|()| down(first)))),
        ("kernel_h2d", first, Box::new(|| nothing(first).and_then(|()| up(first)))),
        ("d2h_kernel", first, Box::new(|| down(first).and_then(|()| nothing(first)))),
        ("h2d_d2h", first, Box::new(|| up(first).and_then(|()| down(first)))),
        (
            "kernel_kernel_across_streams",
            second,
            Box::new(|| nothing(first).and_then(|()| cross()).and_then(|()| nothing(second))),
        ),
        (
            "h2d_kernel_across_streams",
            second,
            Box::new(|| up(first).and_then(|()| cross()).and_then(|()| nothing(second))),
        ),
        (
            "kernel_d2h_across_streams",
            second,
            Box::new(|| nothing(first).and_then(|()| cross()).and_then(|()| down(second))),
        ),
        (
            "h2d_h2d_across_streams",
            second,
            Box::new(|| up(first).and_then(|()| cross()).and_then(|()| up(second))),
        ),
    ];
    for (name, last, issue) in &hops {
        book.measure(format!("gap_hop_{name}_ns"), || {
            median(TRIES, || gpu.between(100 * US, first, *last, issue))
        });
    }

    let in_one_stream: [(&str, Issue<'_>); 8] = [
        ("kernel", Box::new(|| nothing(first))),
        ("h2d_4KiB", Box::new(|| up(first))),
        ("d2h_4KiB", Box::new(|| down(first))),
        ("memset_4KiB", Box::new(|| call!(cuMemsetD8Async(gpu.memory[0], 0, 4 * KIB, first)))),
        ("event_record", Box::new(|| gpu.record(there, first))),
        ("h2d_4KiB_kernel", Box::new(|| up(first).and_then(|()| nothing(first)))),
        ("kernel_d2h_4KiB", Box::new(|| nothing(first).and_then(|()| down(first)))),
        (
            "h2d_4KiB_kernel_d2h_4KiB",
            Box::new(|| up(first).and_then(|()| nothing(first)).and_then(|()| down(first))),
        ),
    ];
    let period = |issue: &Issue<'_>| {
        median(REPETITIONS, || {
            gpu.between(GATE, first, first, || (0..CHAIN).try_for_each(|_| issue()))
                .map(|total| per(total, CHAIN))
        })
    };
    for (name, issue) in &in_one_stream {
        book.measure(format!("gap_chain_{name}_period_ns"), || period(issue));
    }
    let come_back = || gpu.order(second, first, back);
    let round_trips: [(&str, Issue<'_>); 4] = [
        (
            "kernel_event_kernel_event",
            Box::new(|| {
                nothing(first)?;
                cross()?;
                nothing(second)?;
                come_back()
            }),
        ),
        (
            "h2d_event_kernel_event",
            Box::new(|| {
                up(first)?;
                cross()?;
                nothing(second)?;
                come_back()
            }),
        ),
        (
            "kernel_event_d2h_event",
            Box::new(|| {
                nothing(first)?;
                cross()?;
                down(second)?;
                come_back()
            }),
        ),
        (
            "event_event",
            Box::new(|| {
                cross()?;
                come_back()
            }),
        ),
    ];
    for (name, issue) in &round_trips {
        book.measure(format!("gap_chain_{name}_round_trip_ns"), || period(issue));
    }
    book.measure("gap_chain_host_func_period_ns", || {
        const FUNCTIONS: usize = 50;
        median(REPETITIONS, || {
            gpu.between(GATE, first, first, || {
                (0..FUNCTIONS).try_for_each(|_| {
                    call!(cuLaunchHostFunc(first, Some(do_nothing), ptr::null_mut()))
                })
            })
            .map(|total| per(total, FUNCTIONS))
        })
    });
    // As the host issues them, without a gate: the pace of the host where the device is faster.
    book.measure("gap_chain_kernel_ungated_period_ns", || {
        median(REPETITIONS, || {
            gpu.idle()?;
            held(|| {
                (0..CHAIN).try_for_each(|_| nothing(first))?;
                gpu.synchronize(first)
            })
            .map(|total| per(total, CHAIN))
        })
    });
}

/// How many grids run side by side, and how large ones share the SMs.
fn concurrent_grids(gpu: &Gpu, book: &Book) {
    const DURATION: u64 = 10 * MS;
    let mut streams = Vec::new();
    for count in [1, 8, 32, 64, 96, 127, 128, 129, 144, 160] {
        book.measure(format!("one_block_kernels_of_10ms_on_{count}_streams_ns"), || {
            while streams.len() < count {
                streams.push(stream()?);
            }
            gpu.idle()?;
            median(REPETITIONS, || {
                held(|| {
                    streams[..count].iter().try_for_each(|stream| gpu.spin(*stream, DURATION))?;
                    gpu.idle()
                })
            })
        });
    }
    // Two grids on two streams, as fractions of the resident blocks (8 per SM) of each.
    let [first, second, _] = gpu.streams;
    for (label, eighths) in [("quarter", 2), ("half", 4), ("full", 8), ("double", 16)] {
        let blocks = gpu.sms * eighths;
        let elements = blocks * 256 * 8;
        for (grids, key) in [(1, "alone"), (2, "and_another")] {
            book.measure(format!("grid_of_{label}_residency_{key}_ns"), || {
                let function = gpu.function(&kernels::all()[0])?;
                median(REPETITIONS, || {
                    gpu.between(200 * US, first, first, || {
                        gpu.wait(second, gpu.start)?;
                        gpu.map(function, blocks, 256, elements, 32_769, first)?;
                        if grids == 2 {
                            gpu.map(function, blocks, 256, elements, 32_769, second)?;
                        }
                        gpu.order(second, first, gpu.order[0])
                    })
                })
            });
        }
    }
}
