//! A program on the stand-in, which does one of the lab's tasks.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command as Process;
use std::sync::{MutexGuard, PoisonError};

use kernels::task::{Task, chunked_pipeline};
use kernels::{Stage, map_constants};
use simulator::machine::{
    Address, Arguments, MemoryCommand, ModuleCommand, StreamCommand, WorkCommand,
};
use trace::Record;
use trace::lab_protocol::{Buffer, Device, Pass, Region};
use trace::program::{Mode, StreamKind};
use trace::record::Trial;

use super::super::*;

/// So slow that the smallest task is set: 4 MiB.
pub(super) const SPEEDS: Speeds = Speeds {
    host_to_device_bytes_per_us: 100,
    device_to_host_bytes_per_us: 100,
    map_units_per_us: 1000,
    device: Device::Gpu,
};

/// The stand-in has one state for all, and so has CUPTI.
static ALONE: Mutex<()> = Mutex::new(());

/// Compiles the stand-in, once.
fn library() -> &'static PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("swim-stand-in-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let source = folder.join("stand_in.rs");
        std::fs::write(&source, include_str!("stand_in.rs")).expect("a file can be written");
        let library = folder.join("libstand_in.so");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut rustc = Process::new(rustc);
        rustc.args(["--edition=2024", "--crate-type=cdylib", "-o"]).arg(&library).arg(&source);
        assert!(rustc.status().expect("rustc starts").success());
        // Once it is loaded, its name is enough: the loader looks among what it has first.
        let loaded = Real::open_at(&library);
        assert!(loaded.find("cuInit").is_some());
        std::fs::remove_dir_all(&folder).expect("the folder can be removed");
        library
    })
}

/// A program on the stand-in.
pub(super) struct Program {
    pub(super) gpu: Gpu,
    pub(super) task: Task,
    pub(super) stream: u64,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) device: u64,
    pub(super) function: u64,
    /// Until the test is over.
    _alone: MutexGuard<'static, ()>,
}

impl Program {
    pub(super) fn new(trace: Trace) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let real = Real::open_at(library());
        let cupti = match trace {
            Trace::Cupti => cupti::start_at(library()).map(Some),
            _ => Ok(None),
        };
        let mut gpu = Gpu::new(real, trace, cupti);
        gpu.speeds = Ok(SPEEDS);
        let speeds = kernels::task::Speeds {
            host_to_device_bytes_per_us: SPEEDS.host_to_device_bytes_per_us,
            device_to_host_bytes_per_us: SPEEDS.device_to_host_bytes_per_us,
            map_units_per_us: SPEEDS.map_units_per_us,
        };
        let task = Task::new(&chunked_pipeline::SPEC, &speeds, 1);
        assert_eq!(gpu.init(), code::SUCCESS);
        let mut program = Self {
            gpu,
            task,
            stream: 0,
            input: 0,
            output: 0,
            device: 0,
            function: 0x77,
            _alone: alone,
        };
        program.tell("stand_in_busy", 0);
        program.tell("stand_in_hide", 0);
        program.set_up();
        program
    }

    pub(super) fn tell(&self, name: &str, what: u32) {
        let address = self.gpu.real.find(name).expect("the stand-in has it");
        // SAFETY: the stand-in defines its own functions with this type.
        unsafe { std::mem::transmute::<usize, extern "C" fn(u32)>(address)(what) }
    }

    pub(super) fn gives(&self, command: Command, real: impl FnOnce(*mut u64) -> CUresult) -> u64 {
        let given = Cell::new(0);
        let result = self.gpu.call(command, || real(given.as_ptr()), || Reply::Number(given.get()));
        assert_eq!(result, code::SUCCESS);
        given.get()
    }

    fn set_up(&mut self) {
        let bytes = self.bytes();
        let address = |name| self.gpu.real.find(name).expect("the stand-in has it");
        // SAFETY: the stand-in defines these functions with these types.
        let (alloc, alloc_host) = unsafe {
            (
                std::mem::transmute::<usize, unsafe extern "C" fn(*mut u64, usize) -> u32>(
                    address("cuMemAlloc_v2"),
                ),
                std::mem::transmute::<usize, unsafe extern "C" fn(*mut u64, usize, u32) -> u32>(
                    address("cuMemHostAlloc"),
                ),
            )
        };
        let kind = StreamKind::NonBlocking;
        // SAFETY: writes one handle.
        let create = |to| unsafe { self.gpu.real.create_stream(to, 1) };
        let stream =
            self.gives(Command::Stream(StreamCommand::Create { kind, priority: 0 }), create);
        // SAFETY: writes one address.
        let on_host = |to| unsafe { alloc_host(to, bytes as usize, 0) };
        let input = self.gives(Command::Memory(MemoryCommand::AllocHost { bytes }), on_host);
        let output = self.gives(Command::Memory(MemoryCommand::AllocHost { bytes }), on_host);
        // SAFETY: writes one address.
        let on_device = |to| unsafe { alloc(to, bytes as usize) };
        let device = self.gives(Command::Memory(MemoryCommand::Alloc { bytes }), on_device);
        let name = Stage::A.name().to_owned();
        self.gives(Command::Module(ModuleCommand::FunctionGet { module: 0, name }), |to| {
            // SAFETY: room for one handle.
            unsafe { *to = self.function };
            code::SUCCESS
        });
        (self.stream, self.input, self.output, self.device) = (stream, input, output, device);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.task.elements() * 4
    }

    pub(super) fn copy(&self, source: Address, target: Address) {
        let (stream, bytes) = (self.stream, self.bytes());
        let command = Command::Work(WorkCommand::Copy {
            stream,
            mode: Mode::Asynchronous,
            source,
            target,
            bytes,
        });
        let real = || {
            let size = bytes as usize;
            // SAFETY: all of it is live and of this size.
            unsafe {
                match (source, target) {
                    (Address::Device(from), Address::Pageable(to)) => {
                        self.gpu.real.copy_from_device(to as *mut _, from, size)
                    }
                    (Address::Pageable(from), Address::Device(to)) => {
                        self.gpu.real.copy_to_device(to, from as *const _, size)
                    }
                    _ => unreachable!("the tests copy between host and device"),
                }
            }
        };
        assert_eq!(self.gpu.call(command, real, || Reply::Done), code::SUCCESS);
    }

    pub(super) fn launch(&self) {
        let (elements, rounds) = (self.task.elements(), self.task.rounds());
        let kernel = kernels::find(Stage::A.name()).expect("the lab has it");
        let mut arguments = Arguments::new();
        let mut numbers = [elements as u32, rounds].into_iter();
        for parameter in kernel.parameters {
            match parameter {
                kernels::Parameter::Pointer => arguments.extend(self.device.to_le_bytes()),
                kernels::Parameter::U32 => {
                    arguments.extend(numbers.next().expect("two numbers").to_le_bytes());
                }
            }
        }
        let sum = |sizes: &[u8]| sizes.iter().map(|size| usize::from(*size)).sum::<usize>();
        let bytes = self.gpu.with_parameter_sizes(self.function, sum);
        assert_eq!(bytes, Some(arguments.len()), "the lab knows the kernel");
        let command = Command::Work(WorkCommand::Launch {
            function: self.function,
            grid: [132, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            stream: self.stream,
            arguments,
        });
        let real = || {
            let map = map_constants(Stage::A).power(rounds);
            // SAFETY: device memory of the stand-in is ordinary memory, and nobody else's now.
            let memory = unsafe {
                std::slice::from_raw_parts_mut(self.device as *mut u32, elements as usize)
            };
            for element in memory {
                *element = map.apply(*element);
            }
            let launch = self.gpu.real.find("stand_in_launch").expect("the stand-in has it");
            // SAFETY: the stand-in defines it with this type.
            unsafe { std::mem::transmute::<usize, extern "C" fn() -> u32>(launch)() }
        };
        assert_eq!(self.gpu.call(command, real, || Reply::Done), code::SUCCESS);
    }

    pub(super) fn synchronize(&self) {
        let command = Command::Stream(StreamCommand::Synchronize { stream: self.stream });
        self.gpu.call(command, || code::SUCCESS, || Reply::Done);
    }

    /// One pass through the region, in which `work` is done.
    pub(super) fn pass(&self, pass: Pass, work: impl FnOnce()) -> Trial {
        let buffer =
            |array, address| vec![Buffer { array, first: 0, address, bytes: self.bytes() }];
        let region = Region {
            name: String::new(),
            pass,
            task: self.task.name().to_owned(),
            seed: 7,
            inputs: buffer(chunked_pipeline::INPUT, self.input),
            outputs: buffer(chunked_pipeline::OUTPUT, self.output),
        };
        assert_eq!(
            self.gpu.ask(lab_protocol::Request::RegionBegin(region)),
            lab_protocol::Reply::Done
        );
        work();
        match self.gpu.ask(lab_protocol::Request::RegionEnd) {
            lab_protocol::Reply::Trial(trial) => *trial,
            other => panic!("a region that ends gives a trial, not {other:?}"),
        }
    }

    /// What the task asks for.
    pub(super) fn solve(&self) {
        self.copy(Address::Pageable(self.input), Address::Device(self.device));
        self.launch();
        self.copy(Address::Device(self.device), Address::Pageable(self.output));
        self.synchronize();
    }

    pub(super) fn record(&self) -> Record {
        self.gpu.record(&lock(&self.gpu.regions))
    }
}
