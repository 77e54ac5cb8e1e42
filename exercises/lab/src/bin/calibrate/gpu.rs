//! The driver's calls, with the handles that sections share.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;

use cudarc::driver::sys::{self, CUdeviceptr, CUevent, CUfunction, CUmodule, CUresult, CUstream};
use kernels::Kernel;

use crate::arm::{Arm, Outcome};

pub(crate) const KIB: usize = 1 << 10;
pub(crate) const MIB: usize = 1 << 20;

pub(crate) const US: u64 = 1_000; // in nanoseconds
pub(crate) const MS: u64 = 1_000_000; // in nanoseconds

/// Fewer repetitions let one disturbed run move the median.
pub(crate) const REPETITIONS: usize = 11;

/// Threads of a kernel that only passes time: one warp, which leaves room for everything else.
const SPIN_THREADS: usize = 32;
/// Two turns of the four chains that the map works on.
pub(crate) const ELEMENTS_PER_THREAD: usize = 8;
/// Long enough that fixed costs play no part in the pace of the spin, short enough not to be
/// noticed.
const SPIN_TRIAL_ROUNDS: u32 = 300_001;

/// Calls the driver and names the call in the error.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: handles and addresses come from the driver and outlive their use; places for
        // results live for the call; buffers are as long as the call is told.
        let code = unsafe { cudarc::driver::sys::$function($($argument),*) };
        match code {
            cudarc::driver::sys::CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(format!("{}: {code:?}", stringify!($function))),
        }
    }};
}
pub(crate) use call;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    HostToDevice,
    DeviceToHost,
}

impl Direction {
    pub(crate) const BOTH: [Self; 2] = [Self::HostToDevice, Self::DeviceToHost];

    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::HostToDevice => "h2d",
            Self::DeviceToHost => "d2h",
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Timing {
    On,
    Off,
}

/// A grid of map kernels.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) blocks: usize,
    pub(crate) threads: usize,
    /// Nominal elements, over all blocks.
    pub(crate) elements: usize,
    pub(crate) rounds: u32,
}

/// Where a block of device memory meets a block of pinned memory.
pub(crate) struct Pair {
    pub(crate) device: CUdeviceptr,
    pub(crate) host: *mut u8,
}

/// The driver's calls, with the handles that sections share. Nothing is released: the process's end
/// does that.
pub(crate) struct Gpu {
    pub(crate) arm: Arm,
    pub(crate) device: c_int,
    pub(crate) multiprocessors: usize,
    /// Non-blocking, so that nothing waits for the NULL stream.
    pub(crate) streams: [CUstream; 2],
    /// With timing, for `between`.
    pub(crate) start: CUevent,
    pub(crate) stop: CUevent,
    /// Without timing, for order between streams.
    pub(crate) order: [CUevent; 2],
    pub(crate) map_module: CUmodule,
    pub(crate) map: CUfunction,
    scratch: CUdeviceptr,
    /// Of the kernel that passes time.
    rounds_per_us: f64,
}

impl Gpu {
    pub(crate) fn open(arm: Arm) -> Outcome<Self> {
        call!(cuInit(0))?;
        let mut device = 0;
        call!(cuDeviceGet(&mut device, 0))?;
        let mut context = ptr::null_mut();
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        call!(cuCtxSetCurrent(context))?;
        arm.prepare()?;
        let map_module = load(kernels::map::IMAGE)?;
        let mut gpu = Self {
            arm,
            device,
            multiprocessors: 0,
            streams: [stream()?, stream()?],
            start: event(Timing::On)?,
            stop: event(Timing::On)?,
            order: [event(Timing::Off)?, event(Timing::Off)?],
            map_module,
            map: function(map_module, "map_a")?,
            scratch: 0,
            rounds_per_us: 0.0,
        };
        gpu.scratch = gpu.allocate(4 * SPIN_THREADS * ELEMENTS_PER_THREAD)?;
        let multiprocessors =
            gpu.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        gpu.multiprocessors = usize::try_from(multiprocessors)
            .map_err(|_| format!("{multiprocessors} multiprocessors"))?;
        gpu.warm_up()?;
        Ok(gpu)
    }

    /// Raises the clocks, pays every first use, and learns how long a round of the spin takes.
    fn warm_up(&mut self) -> Outcome<()> {
        let [stream, _] = self.streams;
        let pair = self.pair(4 * MIB)?;
        let whole = self.whole_device(10_001);
        let memory = self.allocate(4 * whole.elements)?;
        for _ in 0..self.arm.repetitions(200) {
            self.launch_map(whole, memory, memory, stream)?;
        }
        for direction in Direction::BOTH {
            self.copy(direction, pair.host, pair.device, 4 * MIB, stream)?;
        }
        call!(cuMemsetD8Async(pair.device, 0, self.arm.in_memory(4 * MIB), stream))?;
        call!(cuLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()))?;
        self.idle()?;
        let spin = |rounds: u32| {
            let grid = Grid { rounds, ..self.one_warp() };
            self.record(self.start, stream)?;
            self.launch_map(grid, self.scratch, self.scratch, stream)?;
            self.record(self.stop, stream)?;
            self.idle()?;
            self.elapsed(self.start, self.stop)
        };
        let (one, three) = (spin(SPIN_TRIAL_ROUNDS)?, spin(3 * SPIN_TRIAL_ROUNDS)?);
        self.rounds_per_us =
            f64::from(2 * SPIN_TRIAL_ROUNDS) * 1000.0 / (three - one).max(1) as f64;
        call!(cuMemFree_v2(memory))
    }

    fn one_warp(&self) -> Grid {
        let elements = SPIN_THREADS * ELEMENTS_PER_THREAD;
        Grid { blocks: 1, threads: SPIN_THREADS, elements, rounds: 0 }
    }

    /// The grid that fills every multiprocessor of the devices that we know: 8 blocks of 256
    /// threads.
    pub(crate) fn whole_device(&self, rounds: u32) -> Grid {
        self.full_blocks(8, rounds)
    }

    /// So many blocks of 256 threads on each multiprocessor.
    pub(crate) fn full_blocks(&self, blocks: usize, rounds: u32) -> Grid {
        let (blocks, threads) = (blocks * self.multiprocessors, 256);
        Grid { blocks, threads, elements: blocks * threads * ELEMENTS_PER_THREAD, rounds }
    }

    pub(crate) fn attribute(&self, attribute: sys::CUdevice_attribute) -> Outcome<i64> {
        let mut value = 0;
        call!(cuDeviceGetAttribute(&mut value, attribute, self.device))?;
        Ok(value.into())
    }

    pub(crate) fn kernel(&self, kernel: &Kernel) -> Outcome<CUfunction> {
        function(load(kernel.image)?, kernel.name)
    }

    // -------------------------------------------------------------------------------------
    // launches

    pub(crate) fn launch(
        &self,
        function: CUfunction,
        [blocks, threads]: [usize; 2],
        stream: CUstream,
        arguments: &mut [u64],
    ) -> Outcome<()> {
        // The driver reads as many bytes as each parameter has: the low ones, for 32 bits, as on
        // all hosts that CUDA knows.
        let mut places = [ptr::null_mut::<c_void>(); 8];
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

    pub(crate) fn launch_map(
        &self,
        grid: Grid,
        from: CUdeviceptr,
        to: CUdeviceptr,
        stream: CUstream,
    ) -> Outcome<()> {
        let elements = self.arm.in_memory(grid.elements) as u64;
        let mut arguments = [from, to, elements, grid.rounds.into()];
        self.launch(self.map, [grid.blocks, grid.threads], stream, &mut arguments)
    }

    /// A kernel that finds nothing to do.
    pub(crate) fn nothing(&self, stream: CUstream) -> Outcome<()> {
        let grid = Grid { elements: 0, ..self.one_warp() };
        self.launch_map(grid, self.scratch, self.scratch, stream)
    }

    /// One warp that passes so many nanoseconds.
    pub(crate) fn spin(&self, stream: CUstream, ns: u64) -> Outcome<()> {
        let rounds = (self.rounds_per_us * ns as f64 / 1000.0) as u32 | 1;
        let grid = Grid { rounds, ..self.one_warp() };
        self.launch_map(grid, self.scratch, self.scratch, stream)
    }

    // ---------------------------------------------------------------------------------------
    // memory

    /// Device memory of so many nominal bytes.
    pub(crate) fn allocate(&self, bytes: usize) -> Outcome<CUdeviceptr> {
        let mut pointer = 0;
        call!(cuMemAlloc_v2(&mut pointer, self.arm.in_memory(bytes)))?;
        Ok(pointer)
    }

    /// Pinned memory of so many nominal bytes.
    pub(crate) fn pin(&self, bytes: usize) -> Outcome<*mut u8> {
        let mut pointer = ptr::null_mut();
        call!(cuMemHostAlloc(&mut pointer, self.arm.in_memory(bytes), 0))?;
        Ok(pointer.cast())
    }

    /// Both, of so many nominal bytes, touched.
    pub(crate) fn pair(&self, bytes: usize) -> Outcome<Pair> {
        let pair = Pair { device: self.allocate(bytes)?, host: self.pin(bytes)? };
        let actual = self.arm.in_memory(bytes);
        // SAFETY: the block is that long, and nothing else uses it.
        unsafe { pair.host.write_bytes(1, actual) };
        call!(cuMemsetD8Async(pair.device, 1, actual, self.streams[0]))?;
        self.idle()?;
        Ok(pair)
    }

    /// Copies so many nominal bytes.
    pub(crate) fn copy(
        &self,
        direction: Direction,
        host: *mut u8,
        device: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Outcome<()> {
        let bytes = self.arm.in_memory(bytes);
        match direction {
            Direction::HostToDevice => {
                call!(cuMemcpyHtoDAsync_v2(device, host.cast_const().cast(), bytes, stream))
            }
            Direction::DeviceToHost => {
                call!(cuMemcpyDtoHAsync_v2(host.cast(), device, bytes, stream))
            }
        }
    }

    // ----------------------------------------------------------------------------------------
    // order

    pub(crate) fn record(&self, event: CUevent, stream: CUstream) -> Outcome<()> {
        call!(cuEventRecord(event, stream))
    }

    pub(crate) fn wait(&self, stream: CUstream, event: CUevent) -> Outcome<()> {
        call!(cuStreamWaitEvent(stream, event, 0))
    }

    pub(crate) fn synchronize(&self, stream: CUstream) -> Outcome<()> {
        call!(cuStreamSynchronize(stream))
    }

    pub(crate) fn idle(&self) -> Outcome<()> {
        call!(cuCtxSynchronize())
    }

    pub(crate) fn elapsed(&self, from: CUevent, to: CUevent) -> Outcome<i64> {
        let mut milliseconds = 0.0_f32;
        call!(cuEventElapsedTime(&mut milliseconds, from, to))?;
        Ok((f64::from(milliseconds) * 1e6).round() as i64)
    }

    // ---------------------------------------------------------------------------------
    // measurements

    /// How long the host was blocked, in ns.
    pub(crate) fn held(&self, call: impl FnOnce() -> Outcome<()>) -> Outcome<i64> {
        let began = self.arm.now()?;
        call()?;
        began.elapsed_ns()
    }

    /// Time on the device from the moment that `first` is free to the end of what `issue` gives
    /// `last`, in ns.
    ///
    /// A kernel of `gate` nanoseconds holds the first stream until all is issued, so that the
    /// host's pace plays no part. `issue` may let other streams wait for the event `start`.
    pub(crate) fn between(
        &self,
        gate: u64,
        [first, last]: [CUstream; 2],
        issue: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<i64> {
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

    /// The cost of one more of many operations in a row to the device, in ns: what is at both ends
    /// of the row cancels out between a short row and a long one.
    pub(crate) fn period(
        &self,
        gate: u64,
        [few, many]: [usize; 2],
        issue: impl Fn() -> Outcome<()>,
    ) -> Outcome<i64> {
        let stream = self.streams[0];
        let row = |count| self.between(gate, [stream; 2], || (0..count).try_for_each(|_| issue()));
        Ok((row(many)? - row(few)?) / (many - few) as i64)
    }
}

/// A host function.
pub(crate) unsafe extern "C" fn do_nothing(_: *mut c_void) {}

pub(crate) fn stream() -> Outcome<CUstream> {
    let mut stream = ptr::null_mut();
    call!(cuStreamCreate(&mut stream, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32))?;
    Ok(stream)
}

pub(crate) fn event(timing: Timing) -> Outcome<CUevent> {
    let mut event = ptr::null_mut();
    let flags = match timing {
        Timing::On => sys::CUevent_flags::CU_EVENT_DEFAULT,
        Timing::Off => sys::CUevent_flags::CU_EVENT_DISABLE_TIMING,
    };
    call!(cuEventCreate(&mut event, flags as u32))?;
    Ok(event)
}

pub(crate) fn is_ready(event: CUevent) -> Outcome<bool> {
    // SAFETY: the event exists.
    answer("cuEventQuery", unsafe { sys::cuEventQuery(event) })
}

pub(crate) fn is_free(stream: CUstream) -> Outcome<bool> {
    // SAFETY: the stream exists.
    answer("cuStreamQuery", unsafe { sys::cuStreamQuery(stream) })
}

fn answer(query: &str, code: CUresult) -> Outcome<bool> {
    match code {
        CUresult::CUDA_SUCCESS => Ok(true),
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        code => Err(format!("{query}: {code:?}")),
    }
}

pub(crate) fn load(image: &str) -> Outcome<CUmodule> {
    let image = CString::new(image).map_err(|error| error.to_string())?;
    let mut module = ptr::null_mut();
    call!(cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
    Ok(module)
}

pub(crate) fn function(module: CUmodule, name: &str) -> Outcome<CUfunction> {
    let name = CString::new(name).map_err(|error| error.to_string())?;
    entry(module, &name)
}

/// As [`function`], without time for anything but the call.
pub(crate) fn entry(module: CUmodule, name: &CStr) -> Outcome<CUfunction> {
    let mut function = ptr::null_mut();
    call!(cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
    Ok(function)
}
