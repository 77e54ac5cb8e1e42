//! All that an exercise may use besides `cudarc`.
//!
//! The lab starts the driver, hands out memory and kernels, and marks the measured region. It is
//! not a wrapper around CUDA: streams, events, copies and synchronisation are cudarc's own,
//! unmodified.
//!
//! **Sizes.** The simulated device moves one byte for 32 of the task's, at 1/32 of the bandwidth,
//! so that a run costs little and its times are those of the whole. Each byte that a program
//! allocates, copies or sets there counts 32 times: `alloc_zeros::<u32>(1 << 16)` is 8 MiB in the
//! trace, and 256 KiB on a GPU, where the scale is 1. Take sizes from the task's own memory, such
//! as `block.len() / 4`, and they mean the same on both.
//!
//! Each exercise has a module of its own, named after it: the one thing that its student is handed,
//! `lanes` for `three_lanes` and `pipeline` for `chunked_pipeline`. What they share:
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`exercise`](mod@exercise) | what starts an exercise: `main` of its package is one line |
//! | [`pipeline`] | an array that goes up, through a map, and down |
//! | [`streams`] | blocking streams |
//! | [`memory`] | host memory, pinned or pageable |
//! | [`caching`] | an allocator that keeps freed memory for its stream, as PyTorch's does |
//! | [`map`] | the map kernels |
//! | [`matmul`] | the matrix multiplication of the puzzles |
//! | [`torch`] | what a call of PyTorch costs the host, for the puzzles |
//! | [`clock`] | the time and declared host work |
//! | [`thread`] | host threads and channels between them |
//! | [`driver`] | loading the driver library, and what is asked of it besides the driver API |

pub mod buffer_lifetime;
pub mod caching;
pub mod capstone;
pub mod clock;
pub mod default_stream;
pub mod driver;
pub mod events;
pub mod exercise;
pub mod first_launch;
pub mod fork_join;
pub mod frozen_encoder;
pub mod gpu_augmentation;
pub mod graphs;
pub mod how_many_lanes;
pub mod implicit_sync;
pub mod issue_order;
pub mod lanes;
pub mod map;
pub mod matmul;
pub mod measuring;
pub mod memory;
mod network;
pub mod peers;
pub mod pinned_memory;
pub mod pipeline;
pub mod prefetch;
pub mod priorities;
pub mod streams;
pub mod tensor_and_cuda_cores;
pub mod thread;
pub mod torch;
mod trained;
pub mod two_streams;
pub mod wrapper_tracking;

use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DriverError};
use kernels::task::Spec;
use kernels::{Stage, Task};
use trace::lab_protocol::{Buffer, Device, Pass, Region, SCALE, Speeds};
use trace::record::Trial;
use trace::{env, numbers};

use map::Map;

pub use clock::{Instant, host_work};
pub use lanes::Lanes;
pub use memory::{HostBlock, HostMemory};
pub use pipeline::Job;

/// An error in an exercise.
#[derive(Debug)]
pub enum Error {
    /// A call of the driver failed.
    Driver(DriverError),
    /// The driver library refused something, in words.
    Refused(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Driver(error) => write!(f, "{error}"),
            Error::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        Error::Driver(error)
    }
}

/// A result with the lab's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A device, ready for an exercise or a puzzle program.
#[derive(Clone)]
pub struct Lab {
    context: Arc<CudaContext>,
    speeds: Speeds,
    scale: u32,
    seed: u64,
    pass: Pass,
    /// None on the simulated device, where each pass allocates what it needs, and is seen to.
    reserve: Option<memory::Reserve>,
}

impl Lab {
    /// Starts the driver and takes the device. `folder` is where the program's source files are:
    /// calls are attributed to lines in them.
    pub fn open(folder: &str) -> Result<Self> {
        driver::load()?;
        driver::ask(&trace::lab_protocol::Request::Source { directory: folder.to_owned() })?;
        let context = CudaContext::new(0)?;
        // SAFETY: what cudarc's automatic events would order is what the exercises are about; they
        // order it themselves. `wrapper_tracking` turns them on again.
        unsafe { context.disable_event_tracking() };
        let speeds = driver::speeds()?;
        let scale = match speeds.device {
            Device::Simulated => {
                driver::ask(&trace::lab_protocol::Request::Scale { scale: SCALE })?;
                SCALE
            }
            Device::Gpu => 1,
        };
        driver::ask(&trace::lab_protocol::Request::Ready)?;
        let reserve = match speeds.device {
            Device::Simulated => None,
            Device::Gpu => Some(memory::Reserve::default()),
        };
        let seed = exercise::seed();
        Ok(Self { context, speeds, scale, seed, pass: Pass::Counts, reserve })
    }

    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// How many elements there are in memory for this many nominal ones: one for 32 on the
    /// simulated device.
    pub fn elements(&self, nominal: usize) -> usize {
        nominal / self.scale as usize
    }

    /// A number by which programs of one file differ: that of the program which the checker runs,
    /// or `by_hand` where the file is run without it.
    pub fn number<T: TryFrom<u64>>(&self, name: &str, by_hand: T) -> Result<T> {
        let Ok(setting) = std::env::var(env::NUMBERS) else { return Ok(by_hand) };
        let Some(number) = numbers::of_setting(&setting, name) else { return Ok(by_hand) };
        let refused = || Error::Refused(format!("`{name}` cannot be {number}"));
        T::try_from(number).map_err(|_| refused())
    }

    /// A block of host memory for a task, whose every word is written before it is read.
    pub(crate) fn host_block(&self, memory: HostMemory, elements: usize) -> Result<HostBlock> {
        match &self.reserve {
            Some(reserve) => reserve.block(&self.context, memory, elements),
            None => HostBlock::new(&self.context, memory, elements),
        }
    }

    /// Runs `body` as a measured region: the device is idle when it begins, and the clock stops
    /// when `body` returns. Nothing is filled or checked.
    pub fn region<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<(T, Trial)> {
        self.region_on(Region::default(), body)
    }

    /// Runs `body` as the measured region of a task, with what is filled before and checked after.
    pub(crate) fn measure(
        &self,
        task: &Task,
        [inputs, outputs]: [Vec<Buffer>; 2],
        body: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let task = task.name().to_owned();
        let region = Region { task, inputs, outputs, ..Region::default() };
        self.region_on(region, body).map(drop)
    }

    /// Measures what one engine takes for its share of a task when it is alone: `name` is what it
    /// does. The stream is done when the region ends.
    pub(crate) fn alone(
        &self,
        name: &str,
        body: impl FnOnce(&Arc<CudaStream>) -> Result<()>,
    ) -> Result<()> {
        let stream = self.context.new_stream()?;
        let region = Region { name: name.to_owned(), ..Region::default() };
        self.region_on(region, || {
            body(&stream)?;
            Ok(stream.synchronize()?)
        })
        .map(drop)
    }

    fn region_on<T>(&self, region: Region, body: impl FnOnce() -> Result<T>) -> Result<(T, Trial)> {
        let region = Region { pass: self.pass, seed: self.seed, ..region };
        self.context.synchronize()?;
        driver::ask(&trace::lab_protocol::Request::RegionBegin(region))?;
        let value = body()?;
        let trial = driver::end_region()?;
        exercise::report_trial(&trial);
        Ok((value, trial))
    }

    /// A task in the sizes of this device, and the kernel that does the first stage of it.
    pub(crate) fn mapped(&self, spec: &'static Spec) -> Result<(Task, Map)> {
        let task = self.task(spec);
        let map = Map::load(&self.context, Stage::A, task.rounds(), self.scale)?;
        Ok((task, map))
    }

    pub(crate) fn task(&self, spec: &'static Spec) -> Task {
        let speeds = kernels::task::Speeds {
            host_to_device_bytes_per_us: self.speeds.host_to_device_bytes_per_us,
            device_to_host_bytes_per_us: self.speeds.device_to_host_bytes_per_us,
            map_units_per_us: self.speeds.map_units_per_us,
        };
        Task::new(spec, &speeds, self.scale)
    }
}
