//! Plays a recorded program through the driver: the same calls in the same order, on whichever
//! device the run is for. With it a solution can be measured on a GPU where only its record is.
//!
//! What a program did between two calls is played where it declared it; what its queries said does
//! not matter. Memory is allocated as recorded and holds nothing in particular, since it is not
//! looked at.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::ExitCode;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{
    self, CUdeviceptr, CUevent, CUevent_flags, CUfunction, CUmodule, CUresult, CUstream,
    CUstream_flags,
};
use kernels::{Access, Argument, Kernel, Mode as Touch};
use lab::{Error, Lab, Result, peers};
use trace::env;
use trace::lab_protocol::{Buffer, Reply, Request};
use trace::program::{
    AccessKind, BlockId, Call, DEVICES, EventId, KernelId, Launch, Mode, Place, Range, Step,
    StreamId, StreamKind, Timing, VERSION, WorkQueues,
};
use trace::{Program, hazards};

fn main() -> ExitCode {
    match read() {
        Ok(program) => {
            let WorkQueues { kernels, copies } = WorkQueues::of(&program);
            if WorkQueues::of(&program) != WorkQueues::DEFAULT {
                for (name, count) in [(env::CONNECTIONS, kernels), (env::COPY_CONNECTIONS, copies)]
                {
                    // SAFETY: this process has no other thread yet.
                    unsafe { std::env::set_var(name, count.to_string()) };
                }
            }
            // No source file lies there: calls are this program's, and have no line that matters.
            lab::exercise::run_puzzle("/dev/null", |lab| play(lab, &program))
        }
        Err(why) => {
            complain(&why);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the one place where this program's own error is shown")]
fn complain(why: &str) {
    eprintln!("error: {why}");
}

fn read() -> std::result::Result<Program, String> {
    let path = std::env::var_os(env::PROGRAM)
        .ok_or_else(|| format!("`{}` has to name a recorded program", env::PROGRAM))?;
    let path = Path::new(&path);
    let text = std::fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let program: Program =
        serde_json::from_slice(&text).map_err(|error| format!("`{}`: {error}", path.display()))?;
    match program.version {
        VERSION => Ok(program),
        other => Err(format!("`{}` is of version {other}, not {VERSION}", path.display())),
    }
}

/// One pass: everything before the measured region, the region, and an end to what is left.
fn play(lab: &Lab, program: &Program) -> Result<()> {
    let steps = &program.steps;
    // Of several regions the last counts: those before it are tries, and what was done in them is
    // played as well.
    let find = |call: &Call| steps.iter().rposition(|step| step.call == *call);
    let (Some(begin), Some(end)) = (find(&Call::RegionBegin), find(&Call::RegionEnd)) else {
        return Err(Error::Refused("the recorded program has no measured region".to_owned()));
    };
    // The lab's region waits for the device before it begins, as it did when this was recorded.
    let waits = |step: &Step| step.call == Call::ContextSynchronize;
    let before = if begin > 0 && waits(&steps[begin - 1]) { begin - 1 } else { begin };

    let mut player = Player::new(lab, steps)?;
    for (index, step) in steps.iter().enumerate().take(before) {
        player.step(index, step)?;
    }
    lab.region(|| (begin + 1..end).try_for_each(|index| player.step(index, &steps[index])))?;
    player.end()
}

/// The objects that a recorded program's numbers stand for in this pass.
struct Player<'a> {
    lab: &'a Lab,
    /// The contexts of the devices, where the program uses two.
    contexts: Vec<Arc<CudaContext>>,
    /// The device that each event is made for, by its step: the record does not say, but where it
    /// is recorded does.
    events_on: BTreeMap<usize, u32>,
    streams: BTreeMap<StreamId, CUstream>,
    events: BTreeMap<EventId, CUevent>,
    blocks: BTreeMap<BlockId, Block>,
    kernels: BTreeMap<KernelId, (&'static Kernel, CUfunction)>,
    modules: Vec<CUmodule>,
    /// The module that each `ModuleLoad` loads, by its step: the record does not say, but the
    /// kernels that are looked up next do.
    images: BTreeMap<usize, &'static str>,
    /// Pageable memory for each copy that had some, by its step. Its pages have been touched.
    pageable: BTreeMap<usize, Vec<u8>>,
}

#[derive(Clone, Copy)]
enum Block {
    Device(CUdeviceptr),
    Pinned(*mut c_void),
}

/// A call's result as the lab's.
fn done(result: CUresult) -> Result<()> {
    Ok(result.result()?)
}

extern "C" fn nothing(_: *mut c_void) {}

impl<'a> Player<'a> {
    fn new(lab: &'a Lab, steps: &[Step]) -> Result<Self> {
        let mut images = BTreeMap::new();
        let mut pageable = BTreeMap::new();
        let (mut events_on, mut created) = (BTreeMap::new(), BTreeMap::new());
        let mut loaded = None;
        for (index, step) in steps.iter().enumerate() {
            match &step.call {
                Call::ModuleLoad => loaded = Some(index),
                Call::FunctionGet { name, .. } => {
                    if let Some(load) = loaded.take() {
                        images.insert(load, known(name)?.image);
                    }
                }
                Call::EventRecord { event, stream } => {
                    if let Some(create) = created.remove(event) {
                        events_on.insert(create, stream.device());
                    }
                }
                Call::EventCreate { event, .. } => {
                    created.insert(event, index);
                }
                Call::Copy { source, target, bytes, .. }
                    if [source, target].contains(&&Place::Pageable) =>
                {
                    pageable.insert(index, vec![1; lab.elements(*bytes as usize)]);
                }
                _ => {}
            }
        }
        /// `CU_STREAM_PER_THREAD`
        const PER_THREAD: usize = 2;
        let defaults =
            [(StreamId::LEGACY, null_mut()), (StreamId::PER_THREAD, PER_THREAD as CUstream)];
        let of = |device| defaults.map(|(stream, it)| (StreamId::on(device, stream.number()), it));
        let streams = (0..DEVICES).flat_map(of).collect();
        let there = |step: &Step| {
            step.device > 0 || hazards::stream(&step.call).is_some_and(|it| it.device() > 0)
        };
        let contexts = match steps.iter().any(there) {
            true => peers::contexts(lab)?.to_vec(),
            false => Vec::new(),
        };
        Ok(Self {
            lab,
            contexts,
            events_on,
            streams,
            events: BTreeMap::new(),
            blocks: BTreeMap::new(),
            kernels: BTreeMap::new(),
            modules: Vec::new(),
            images,
            pageable,
        })
    }

    /// Makes the call of a step, unless it failed: then it did nothing.
    fn step(&mut self, index: usize, step: &Step) -> Result<()> {
        // A query's "not ready" is an answer, not a failure.
        const NOT_READY: u32 = CUresult::CUDA_ERROR_NOT_READY as u32;
        if step.result != 0 && step.result != NOT_READY {
            return Ok(());
        }
        if step.thread != 0 {
            return Err(Error::Refused("a program of several host threads is not played".into()));
        }
        if let Some(context) =
            self.device_of(index, step).and_then(|it| self.contexts.get(it as usize))
        {
            context.bind_to_thread()?;
        }
        self.call(index, &step.call)
    }

    /// The device whose context the call of a step is made in; none where any will do.
    fn device_of(&self, index: usize, step: &Step) -> Option<u32> {
        match &step.call {
            Call::FunctionGet { .. } => None, // in the context that the module was loaded in, just before
            Call::EventCreate { .. } => self.events_on.get(&index).copied(),
            Call::StreamCreate { stream, .. }
            | Call::StreamDestroy { stream }
            | Call::StreamSynchronize { stream }
            | Call::StreamQuery { stream }
            | Call::StreamWait { stream, .. }
            | Call::EventRecord { stream, .. }
            | Call::AllocAsync { stream, .. }
            | Call::FreeAsync { stream, .. }
            | Call::HostFunction { stream, .. } => Some(stream.device()),
            Call::Alloc { block, .. } | Call::Free { block } => Some(block.device()),
            Call::PeerAccess { by, .. } => Some(*by),
            call => Some(hazards::stream(call).map_or(step.device, StreamId::device)),
        }
    }

    /// Work in which the host writes to pinned memory. On a GPU it really does, for its cache.
    fn load(&self, ns: u64, range: Range) -> Result<()> {
        let bytes = self.lab.elements(range.bytes as usize);
        let target = self.host(range)?;
        let began_ns = match lab::driver::ask(&Request::Clock)? {
            Reply::Clock { ns } => ns,
            _ => 0,
        };
        if std::env::var(env::DEVICE).as_deref() == Ok(env::DEVICE_GPU) {
            // SAFETY: the range lies in a block that is allocated, and the recorded program wrote
            // there at this point too.
            unsafe { target.cast::<u8>().write_bytes(1, bytes) };
        }
        let bytes = bytes as u64;
        let place = Buffer { array: 0, first: 0, address: target as u64, bytes };
        lab::driver::ask(&Request::Load { place, written: bytes, ns, began_ns }).map(drop)
    }

    /// The access of a device to the other one's memory.
    fn peer_access(&self, by: u32, pool: bool, enabled: bool) -> Result<()> {
        let [first, second] = self.contexts.as_slice() else {
            return Err(unknown("a second device"));
        };
        let (of, by) = if by == 0 { (second, first) } else { (first, second) };
        if pool {
            return peers::allow(of, by, enabled);
        }
        // SAFETY: the contexts are live.
        let result = unsafe {
            match enabled {
                true => sys::cuCtxEnablePeerAccess(of.cu_ctx(), 0),
                false => sys::cuCtxDisablePeerAccess(of.cu_ctx()),
            }
        };
        match result {
            // By an earlier pass.
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => done(result),
        }
    }

    fn call(&mut self, index: usize, call: &Call) -> Result<()> {
        match call {
            // The last is no call, and what the memory holds does not matter here.
            Call::RegionBegin
            | Call::RegionEnd
            | Call::Connections { .. }
            | Call::HostAccess { .. } => Ok(()),
            Call::PeerAccess { by, pool, enabled } => self.peer_access(*by, *pool, *enabled),
            Call::HostWork { ns, target: None } => lab::host_work(Duration::from_nanos(*ns)),
            Call::HostWork { ns, target: Some(range) } => self.load(*ns, *range),
            Call::Arrival { at_ns, .. } => {
                lab::driver::ask(&Request::Arrival { played_ns: Some(*at_ns) }).map(drop)
            }
            Call::Answer { request } => {
                lab::driver::ask(&Request::Answer { request: *request }).map(drop)
            }
            Call::StreamCreate { stream, kind, priority } => {
                let flags = match kind {
                    StreamKind::Blocking => CUstream_flags::CU_STREAM_DEFAULT,
                    StreamKind::NonBlocking => CUstream_flags::CU_STREAM_NON_BLOCKING,
                };
                let mut handle = null_mut();
                // SAFETY: writes one handle.
                done(unsafe {
                    sys::cuStreamCreateWithPriority(&raw mut handle, flags as u32, *priority)
                })?;
                self.streams.insert(*stream, handle);
                Ok(())
            }
            Call::EventCreate { event, timing } => {
                let flags = match timing {
                    Timing::Enabled => CUevent_flags::CU_EVENT_DEFAULT,
                    Timing::Disabled => CUevent_flags::CU_EVENT_DISABLE_TIMING,
                };
                let mut handle = null_mut();
                // SAFETY: writes one handle.
                done(unsafe { sys::cuEventCreate(&raw mut handle, flags as u32) })?;
                self.events.insert(*event, handle);
                Ok(())
            }
            Call::Alloc { .. }
            | Call::AllocAsync { .. }
            | Call::AllocHost { .. }
            | Call::Free { .. }
            | Call::FreeAsync { .. }
            | Call::FreeHost { .. } => self.memory(call),
            Call::Copy { stream, mode, source, target, bytes } => {
                self.copy(index, *stream, *mode, (*source, *target), *bytes)
            }
            Call::Memset { stream, mode, target } => {
                let bytes = self.lab.elements(target.bytes as usize);
                let (stream, target) = (self.stream(*stream)?, self.device(*target)?);
                // SAFETY: the range lies in a block that is allocated.
                done(unsafe {
                    match mode {
                        Mode::Asynchronous => sys::cuMemsetD8Async(target, 0, bytes, stream),
                        Mode::Synchronous => sys::cuMemsetD8_v2(target, 0, bytes),
                    }
                })
            }
            Call::ModuleLoad => {
                let image = self.images.get(&index).copied().unwrap_or(kernels::map::IMAGE);
                let image = CString::new(image).map_err(|_| unknown("an image with a NUL"))?;
                let mut module = null_mut();
                // SAFETY: writes one handle; the image is text that ends with a NUL.
                done(unsafe { sys::cuModuleLoadData(&raw mut module, image.as_ptr().cast()) })?;
                self.modules.push(module);
                Ok(())
            }
            Call::ModuleUnload => match self.modules.pop() {
                // SAFETY: the module is loaded, and no longer after this.
                Some(module) => done(unsafe { sys::cuModuleUnload(module) }),
                None => Err(unknown("an unload of a module")),
            },
            Call::FunctionGet { kernel, name, .. } => {
                let module = *self.modules.last().ok_or_else(|| unknown(name))?;
                let found = known(name)?;
                let name = CString::new(found.name).map_err(|_| unknown(name))?;
                let mut function = null_mut();
                // SAFETY: writes one handle; the module is loaded.
                done(unsafe {
                    sys::cuModuleGetFunction(&raw mut function, module, name.as_ptr())
                })?;
                self.kernels.insert(*kernel, (found, function));
                Ok(())
            }
            Call::Launch(launch) => self.launch(launch),
            Call::HostFunction { stream, .. } => {
                let stream = self.stream(*stream)?;
                // SAFETY: the function takes nothing and calls nothing.
                done(unsafe { sys::cuLaunchHostFunc(stream, Some(nothing), null_mut()) })
            }
            Call::GraphCreate { .. } | Call::GraphInstantiate { .. } | Call::GraphLaunch { .. } => {
                Err(Error::Refused("a program that makes graphs is not played".to_owned()))
            }
            _ => self.order(call),
        }
    }

    /// Calls that only order or ask.
    fn order(&mut self, call: &Call) -> Result<()> {
        let mut elapsed_ms = 0.0;
        // SAFETY: all handles are live, since the recorded program used them so.
        let result = unsafe {
            match *call {
                Call::StreamDestroy { stream } => {
                    sys::cuStreamDestroy_v2(self.streams.remove(&stream).unwrap_or(null_mut()))
                }
                Call::StreamSynchronize { stream } => {
                    sys::cuStreamSynchronize(self.stream(stream)?)
                }
                Call::StreamQuery { stream } => sys::cuStreamQuery(self.stream(stream)?),
                Call::StreamWait { stream, event } => {
                    sys::cuStreamWaitEvent(self.stream(stream)?, self.event(event)?, 0)
                }
                Call::ContextSynchronize => sys::cuCtxSynchronize(),
                Call::EventDestroy { event } => {
                    sys::cuEventDestroy_v2(self.events.remove(&event).unwrap_or(null_mut()))
                }
                Call::EventRecord { event, stream } => {
                    sys::cuEventRecord(self.event(event)?, self.stream(stream)?)
                }
                Call::EventSynchronize { event } => sys::cuEventSynchronize(self.event(event)?),
                Call::EventQuery { event } => sys::cuEventQuery(self.event(event)?),
                Call::EventElapsed { start, end } => sys::cuEventElapsedTime(
                    &raw mut elapsed_ms,
                    self.event(start)?,
                    self.event(end)?,
                ),
                _ => return Err(unknown("a call that it does not know")),
            }
        };
        match (call, result) {
            (
                Call::StreamQuery { .. } | Call::EventQuery { .. } | Call::EventElapsed { .. },
                CUresult::CUDA_ERROR_NOT_READY,
            ) => Ok(()),
            _ => done(result),
        }
    }

    fn memory(&mut self, call: &Call) -> Result<()> {
        let size = |bytes: u64| self.lab.elements(bytes as usize);
        let (mut address, mut host) = (0, null_mut());
        // SAFETY: each writes one address, or gives back memory that is not used afterwards.
        let (new, result) = unsafe {
            match *call {
                Call::Alloc { block, bytes } => {
                    (Some(block), sys::cuMemAlloc_v2(&raw mut address, size(bytes)))
                }
                Call::AllocAsync { block, bytes, stream } => {
                    let stream = self.stream(stream)?;
                    (Some(block), sys::cuMemAllocAsync(&raw mut address, size(bytes), stream))
                }
                Call::AllocHost { block, bytes } => {
                    (Some(block), sys::cuMemHostAlloc(&raw mut host, size(bytes), 0))
                }
                Call::Free { block } => (None, sys::cuMemFree_v2(self.take_device(block)?)),
                Call::FreeAsync { block, stream } => {
                    let stream = self.stream(stream)?;
                    (None, sys::cuMemFreeAsync(self.take_device(block)?, stream))
                }
                Call::FreeHost { block } => match self.blocks.remove(&block) {
                    Some(Block::Pinned(host)) => (None, sys::cuMemFreeHost(host)),
                    _ => return Err(unknown("a block of pinned memory")),
                },
                _ => return Err(unknown("a call for memory")),
            }
        };
        done(result)?;
        if let Some(block) = new {
            let kind = if host.is_null() { Block::Device(address) } else { Block::Pinned(host) };
            self.blocks.insert(block, kind);
        }
        Ok(())
    }

    fn copy(
        &mut self,
        index: usize,
        stream: StreamId,
        mode: Mode,
        ends: (Place, Place),
        bytes: u64,
    ) -> Result<()> {
        let stream = self.stream(stream)?;
        let bytes = self.lab.elements(bytes as usize);
        let ordinary = self
            .pageable
            .get_mut(&index)
            .map_or(null_mut(), |memory| memory.as_mut_ptr().cast::<c_void>());
        let host = |place: Place| match place {
            Place::Pageable => Ok(ordinary),
            Place::Pinned(range) => self.host(range),
            Place::Device(_) => Err(unknown("device memory on the host")),
        };
        // SAFETY: both ends are allocated and long enough, as they were when this was recorded;
        // pageable memory lives until the pass has ended, and so until the device is idle.
        let result = unsafe {
            match (ends, mode) {
                ((Place::Device(from), Place::Device(to)), Mode::Asynchronous)
                    if from.block.device() != to.block.device() =>
                {
                    let context = |range: Range| {
                        let context = self.contexts.get(range.block.device() as usize);
                        context.map(|it| it.cu_ctx()).ok_or_else(|| unknown("a second device"))
                    };
                    sys::cuMemcpyPeerAsync(
                        self.device(to)?,
                        context(to)?,
                        self.device(from)?,
                        context(from)?,
                        bytes,
                        stream,
                    )
                }
                ((Place::Device(from), Place::Device(to)), Mode::Asynchronous) => {
                    sys::cuMemcpyDtoDAsync_v2(self.device(to)?, self.device(from)?, bytes, stream)
                }
                ((Place::Device(from), Place::Device(to)), Mode::Synchronous) => {
                    sys::cuMemcpyDtoD_v2(self.device(to)?, self.device(from)?, bytes)
                }
                ((Place::Device(from), to), Mode::Asynchronous) => {
                    sys::cuMemcpyDtoHAsync_v2(host(to)?, self.device(from)?, bytes, stream)
                }
                ((Place::Device(from), to), Mode::Synchronous) => {
                    sys::cuMemcpyDtoH_v2(host(to)?, self.device(from)?, bytes)
                }
                ((from, Place::Device(to)), Mode::Asynchronous) => {
                    sys::cuMemcpyHtoDAsync_v2(self.device(to)?, host(from)?, bytes, stream)
                }
                ((from, Place::Device(to)), Mode::Synchronous) => {
                    sys::cuMemcpyHtoD_v2(self.device(to)?, host(from)?, bytes)
                }
                _ => return Err(unknown("a copy between two places on the host")),
            }
        };
        done(result)
    }

    fn launch(&self, launch: &Launch) -> Result<()> {
        let (kernel, function) =
            self.kernels.get(&launch.kernel).copied().ok_or_else(|| unknown("a kernel"))?;
        let mut accesses = Vec::new();
        for access in &launch.accesses {
            accesses.push(Access {
                pointer: match self.blocks.get(&access.range.block) {
                    Some(Block::Pinned(_)) => self.host(access.range)? as u64,
                    _ => self.device(access.range)?,
                },
                bytes: self.lab.elements(access.range.bytes as usize) as u64,
                mode: match access.kind {
                    AccessKind::Read => Touch::Read,
                    AccessKind::Write => Touch::Write,
                },
            });
        }
        let units = self.lab.elements(launch.units as usize) as u64;
        // A recorded program has the scale of the simulated device, and a GPU has none.
        let copies = self.lab.elements(trace::lab_protocol::SCALE as usize).max(1) as u64;
        let mut arguments = kernel
            .arguments(&accesses, units, copies)
            .ok_or_else(|| unknown(&format!("a launch of `{}` as it was recorded", kernel.name)))?;
        let mut pointers: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|argument| match argument {
                Argument::Pointer(pointer) => (&raw mut *pointer).cast(),
                Argument::U32(number) => (&raw mut *number).cast(),
            })
            .collect();
        let ([x, y, z], [across, down, deep]) = (launch.grid, launch.block);
        // SAFETY: the arguments have the kernel's types, and name memory that is allocated.
        done(unsafe {
            sys::cuLaunchKernel(
                function,
                x,
                y,
                z,
                across,
                down,
                deep,
                launch.shared_bytes,
                self.stream(launch.stream)?,
                pointers.as_mut_ptr(),
                null_mut(),
            )
        })
    }

    fn stream(&self, stream: StreamId) -> Result<CUstream> {
        self.streams.get(&stream).copied().ok_or_else(|| unknown("a stream"))
    }

    fn event(&self, event: EventId) -> Result<CUevent> {
        self.events.get(&event).copied().ok_or_else(|| unknown("an event"))
    }

    fn device(&self, range: Range) -> Result<CUdeviceptr> {
        match self.blocks.get(&range.block) {
            Some(Block::Device(address)) => {
                Ok(address + self.lab.elements(range.offset as usize) as u64)
            }
            _ => Err(unknown("a block of device memory")),
        }
    }

    fn host(&self, range: Range) -> Result<*mut c_void> {
        match self.blocks.get(&range.block) {
            Some(Block::Pinned(address)) => {
                Ok(address.wrapping_byte_add(self.lab.elements(range.offset as usize)))
            }
            _ => Err(unknown("a block of pinned memory")),
        }
    }

    fn take_device(&mut self, block: BlockId) -> Result<CUdeviceptr> {
        match self.blocks.remove(&block) {
            Some(Block::Device(address)) => Ok(address),
            _ => Err(unknown("a block of device memory")),
        }
    }

    /// Gives back what the recorded program still had when its region ended.
    fn end(self) -> Result<()> {
        // SAFETY: the device is made idle, and nothing of this is used again.
        unsafe {
            for context in &self.contexts {
                context.synchronize()?;
            }
            done(sys::cuCtxSynchronize())?;
            for event in self.events.into_values() {
                done(sys::cuEventDestroy_v2(event))?;
            }
            for block in self.blocks.into_values() {
                done(match block {
                    Block::Device(address) => sys::cuMemFree_v2(address),
                    Block::Pinned(address) => sys::cuMemFreeHost(address),
                })?;
            }
            let created = |stream: &StreamId| stream.number() >= StreamId::FIRST_CREATED;
            for (_, stream) in self.streams.into_iter().filter(|(stream, _)| created(stream)) {
                done(sys::cuStreamDestroy_v2(stream))?;
            }
            for module in self.modules {
                done(sys::cuModuleUnload(module))?;
            }
        }
        Ok(())
    }
}

fn known(kernel: &str) -> Result<&'static Kernel> {
    kernels::find(kernel).ok_or_else(|| unknown(&format!("a kernel `{kernel}`")))
}

fn unknown(what: &str) -> Error {
    Error::Refused(format!("the recorded program asks for what is not there: {what}"))
}
