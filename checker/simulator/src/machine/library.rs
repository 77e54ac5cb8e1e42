//! Kernels and tasks, of which the machine has to be told. It sees both through traits, so that it
//! depends on neither.

use trace::lab_protocol::Speeds;
use trace::program::{AccessKind, Items, Loop};

use crate::bounds::TaskWork;

/// The kernels that can be launched and the tasks that can be set.
pub trait Library: Send {
    /// The kernel with this name.
    fn kernel(&self, name: &str) -> Option<Box<dyn Kernel>>;
    /// The task with this name, sized for a device of these speeds and cut down by `scale`.
    fn task(&self, name: &str, speeds: &Speeds, scale: u32) -> Option<Box<dyn Task>>;
}

/// Computes the results of a kernel: from the arguments and what it reads, in the order of
/// [`Kernel::accesses`], to what it writes. The outputs hold their old contents.
pub type Twin = Box<dyn Fn(&[u8], &[&[u8]], &mut [Vec<u8>]) + Send>;

/// A kernel: what it costs, what it touches, what it computes. Arguments come one after the other,
/// in the sizes that it states.
pub trait Kernel {
    /// Size of each parameter, in bytes.
    fn parameter_sizes(&self) -> Vec<u8>;
    /// The rate that its work is counted in.
    fn rate(&self) -> &str;
    /// Registers of a thread.
    fn registers(&self) -> u32;
    /// Threads of a block at the most.
    fn most_threads(&self) -> u32;
    /// Static shared memory of a block, in bytes.
    fn shared_bytes(&self) -> u32;
    /// Items that its threads share out among them; none where each does the same.
    fn items(&self) -> Option<Items> {
        None
    }
    /// Instructions that its warps issue over and over; none where that is not known.
    fn inner_loop(&self) -> Option<Loop> {
        None
    }
    /// The work of a launch where one byte in memory represents `scale` nominal bytes: what it does
    /// in memory, which is `1 / scale` of what it does on a device. None if the arguments are too
    /// short.
    fn work(&self, arguments: &[u8], scale: u32) -> Option<KernelWork>;
    /// Accesses of a launch: reads, then writes. None if the arguments are too short.
    fn accesses(&self, arguments: &[u8], scale: u32) -> Option<Vec<KernelAccess>>;
    /// How many rounds of its map a launch takes every element through, from the one range that it
    /// reads to the one that it writes; none if it is no such kernel.
    fn rounds(&self, _arguments: &[u8]) -> Option<u64> {
        None
    }
    /// Its twin; none if it is simulated for its time alone.
    fn twin(&self) -> Option<Twin>;
}

/// The work of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelWork {
    /// In units of the kernel's rate.
    pub units: u64,
    /// Device memory traffic, in bytes.
    pub bytes: u64,
}

/// Memory that a launch touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelAccess {
    /// How.
    pub kind: AccessKind,
    /// Where, as a device address.
    pub address: u64,
    /// How much.
    pub bytes: u64,
}

/// A step on the way that the elements of an array take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelStep {
    /// The kernel that goes over each of them.
    pub kernel: String,
    /// How many rounds of it.
    pub rounds: u64,
    /// The grid of a launch, where the task has it leave a part of the device empty.
    pub small: Option<SmallGrid>,
}

/// Limits of a kernel's size, however its work is cut into launches that run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallGrid {
    /// Blocks of a launch at the most.
    pub most_blocks: u32,
    /// Elements of each of its blocks at the least.
    pub block_elements: u64,
}

impl SmallGrid {
    /// Whether a launch of so many blocks over so many elements is as small as it has to be.
    #[must_use]
    pub fn holds(self, blocks: u64, elements: u64) -> bool {
        blocks <= self.most_blocks.into() && blocks.saturating_mul(self.block_elements) <= elements
    }
}

/// Elements of an array that a region of a task has in memory of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The array.
    pub array: u32,
    /// Whether they are an output.
    pub role: Role,
    /// Where they have to be.
    pub side: Side,
    /// First element.
    pub first: u64,
    /// How many.
    pub elements: u64,
}

/// Elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The array.
    pub array: u32,
    /// First element.
    pub first: u64,
    /// How many.
    pub elements: u64,
}

/// Roles of elements in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// There before it begins.
    Input,
    /// There when it ends.
    Output,
}

/// One of the two memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The host's.
    Host,
    /// The device's.
    Device,
}

/// A task: what an exercise sets out to do. It owns the inputs and knows the outputs.
pub trait Task: Send + Sync {
    /// The work that it needs, in nominal bytes and units.
    fn work(&self) -> TaskWork;
    /// The units that it needs of each kernel, by the kernel's name.
    fn kernel_units(&self) -> Vec<(String, u64)>;
    /// The most device memory that a region may have at one time, in nominal bytes; none where
    /// there is no such budget.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }
    /// How many elements an array has in memory.
    fn elements(&self, _array: u32) -> u64 {
        0
    }
    /// Parts that a region has to declare, all of them and nothing else.
    fn parts(&self) -> Vec<Part> {
        Vec::new()
    }
    /// The array that an array's elements come from, which may be itself, and their way from there.
    /// Ways from one array are parts of one way. None for a number that no array has.
    fn origin(&self, _array: u32) -> Option<(u32, Vec<KernelStep>)> {
        None
    }
    /// The values that a launch of a kernel makes of these elements, range by range of what it
    /// writes. Where the task has no such launch, which of them do not belong together, in words;
    /// none where it is something else.
    fn made(&self, _kernel: &str, _reads: &[Span]) -> Result<Vec<Span>, Option<String>> {
        Err(None)
    }
    /// The given arrays that the host has, or loads.
    fn on_host(&self) -> Vec<u32> {
        Vec::new()
    }
    /// The time that loading so many elements of an array takes the host; none if it is not loaded
    /// by anyone.
    fn loading_ns(&self, _array: u32, _elements: u64) -> Option<u64> {
        None
    }
    /// When requests arrive, one after the other, in ns from the beginning of the region.
    fn arrivals(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Where the answer to a request is to be when it is sent: a part that the region declares as
    /// an output.
    fn answer(&self, _request: u32) -> Option<Part> {
        None
    }
    /// Fills 32-bit elements of an input array as they are after some steps, from `first` on.
    fn passed(
        &self,
        array: u32,
        seed: u64,
        first: u64,
        _steps: &[KernelStep],
        elements: &mut [u32],
    ) {
        self.input(array, seed, first, elements);
    }
    /// Fills 32-bit elements of an input array, from `first` on.
    fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]);
    /// Computes the elements of an output array as they must be, from `first` on.
    fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]);
}
