//! What the machine has to be told: kernels and tasks. It sees both through traits, so that it depends
//! on neither.

use trace::lab::Speeds;
use trace::program::AccessKind;

use crate::bounds::TaskWork;

/// The kernels that can be launched and the tasks that can be set.
pub trait Library: Send {
    /// The kernel with this name.
    fn kernel(&self, name: &str) -> Option<Box<dyn Kernel>>;
    /// The task with this name, sized for a device of these speeds and cut down by `scale`.
    fn task(&self, name: &str, speeds: &Speeds, scale: u32) -> Option<Box<dyn Task>>;
}

/// Computes what a kernel leaves behind: from the arguments and what it reads, in the order of
/// [`Kernel::accesses`], to what it writes. The outputs hold their old contents.
pub type Twin = Box<dyn Fn(&[u8], &[&[u8]], &mut [Vec<u8>]) + Send>;

/// A kernel: what it costs, what it touches, what it computes. Arguments come one after the other, in
/// the sizes that it states.
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
    /// The work of a launch, where one byte in memory stands for `scale`: what it does in memory, so
    /// `1 / scale` of what it does on a device. None if the arguments are too short.
    fn work(&self, arguments: &[u8], scale: u32) -> Option<KernelWork>;
    /// What a launch touches: reads, then writes. None if the arguments are too short.
    fn accesses(&self, arguments: &[u8], scale: u32) -> Option<Vec<KernelAccess>>;
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

/// A task: what an exercise sets out to do. It owns the inputs and knows the outputs.
pub trait Task: Send + Sync {
    /// The work that it needs, in nominal bytes and units.
    fn work(&self) -> TaskWork;
    /// The units that it needs of each kernel, by the kernel's name.
    fn kernel_units(&self) -> Vec<(String, u64)>;
    /// Fills 32-bit elements of an input array, from `first` on.
    fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]);
    /// What elements of an output array must be, from `first` on.
    fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]);
}
