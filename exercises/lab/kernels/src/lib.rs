//! The kernels that the exercises launch: CUDA C (`cuda/`), and the PTX built from it (`ptx/`). A
//! simulator needs more to stand in for an entry: its parameters, the memory it reads and writes,
//! its work, and a twin in Rust that computes the same bytes.
//!
//! It is not a way to launch anything: there is no driver, no device and no clock here, only plain
//! data and functions of it, so that it also builds for WebAssembly.
//!
//! - [`map`]: integer affine maps iterated per element, one entry per stage of a pipeline.
//! - [`matmul`]: a matrix product that keeps every SM busy; simulated for its time alone.
//! - [`network`]: what images go through, layers of a convolutional network, forward and backward,
//!   and a step of its training.
//! - [`pipes`]: kernels that are bound by one part of a multiprocessor each.
//! - [`recipe`]: tasks that are lists of launches.
//! - [`task`]: what an exercise sets out to do: sizes, inputs, expected outputs.

pub mod map;
pub mod matmul;
pub mod network;
pub mod pipes;
pub mod recipe;
pub mod task;

pub use map::{Affine, Stage, map_constants};
pub use recipe::Recipe;
pub use task::Task;

/// One value of a launch's argument list, as the driver reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An address in device memory.
    Pointer(u64),
    /// A 32-bit unsigned integer.
    U32(u32),
}

/// The type of one parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// An address in device memory, 8 bytes.
    Pointer,
    /// A 32-bit unsigned integer, 4 bytes.
    U32,
}

/// Use of a range of memory by a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reads every byte of it.
    Read,
    /// Writes every byte of it.
    Write,
}

/// A range of device memory that a launch reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its first byte.
    pub pointer: u64,
    /// Its length in bytes, as they are in memory.
    pub bytes: u64,
    /// Read or write.
    pub mode: Mode,
}

/// How much a launch has to do, over all its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Units of the kernel's rate: element-rounds for `map`, multiply-adds for a matrix product.
    pub units: u64,
    /// Bytes that pass between device memory and the SMs at the least.
    pub bytes: u64,
}

/// Pieces of work that one thread does as a whole: of `n` threads, thread `t` has the items `t`,
/// `t + n`, `t + 2n` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items {
    /// Traffic between device memory and the SM for one of them, in bytes.
    pub bytes: u32,
    /// How many a thread takes up together; what is left over it takes up one by one.
    pub together: u32,
    /// How often it waits for memory each time.
    pub waits: u32,
}

/// Main instructions of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Main {
    /// Multiply-adds of floats.
    Floats,
    /// Multiply-adds of integers.
    Integers,
    /// Products on the tensor cores.
    Tensor,
    /// Loads from device memory.
    Loads,
}

/// A kernel's innermost loop, as each warp issues it over and over: as compiled for compute
/// capability 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its main instruction, of which most of it is made.
    pub main: Main,
    /// Main instructions in a turn.
    pub each_turn: u16,
    /// Independent chains of them.
    pub chains: u8,
    /// Instructions beside them in a turn, the branch among them.
    pub others: u16,
}

/// The blocks that a kernel may be launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Any number of them: they share the work evenly.
    Any,
    /// This many in one dimension; with fewer or more the result is wrong.
    Exactly(u32),
}

/// Computes a launch: arguments, the bytes of each read access in the order of
/// [`Kernel::accesses`], and the bytes of each write access in the same order, which hold the old
/// contents on entry.
pub type Twin = fn(&[Argument], inputs: &[&[u8]], outputs: &mut [Vec<u8>]);

/// A kernel that the exercises may launch.
#[derive(Debug)]
pub struct Kernel {
    /// The name of its entry in the PTX.
    pub name: &'static str,
    /// The PTX text of the module that holds it.
    pub image: &'static str,
    /// The types of its parameters, in order.
    pub parameters: &'static [Parameter],
    /// The name of the rate, in units per time, by which a device's profile turns its work into
    /// time.
    pub rate: &'static str,
    /// Registers per thread, as compiled for compute capability 9.0.
    pub registers: u32,
    /// Static shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Threads per block that it is meant for.
    pub threads: u32,
    /// Blocks that it is meant for.
    pub blocks: Blocks,
    /// The items that its threads share; `None` where each thread does the same.
    pub items: Option<Items>,
    /// The loop that its warps issue, where that is stated: it decides what it leaves to
    /// others on a multiprocessor.
    pub inner_loop: Option<Loop>,
    body: Body,
}

#[derive(Clone, Copy, Debug)]
enum Body {
    Map(Stage),
    Matmul,
    Network(network::Operation),
    Pipe(pipes::Pipe),
}

impl Kernel {
    /// Work of a launch with these arguments, where one byte in memory stands for `scale`:
    /// what it has to do in memory, so `1 / scale` of what it does on a device.
    ///
    /// The grid does not change it: all families divide fixed work among whatever blocks there are.
    ///
    /// # Panics
    ///
    /// When the arguments do not have the types of [`Kernel::parameters`].
    #[must_use]
    pub fn work(&self, arguments: &[Argument], scale: u32) -> Work {
        match self.body {
            Body::Map(_) => map::work(arguments),
            Body::Matmul => matmul::work(scale),
            Body::Network(operation) => network::work(operation, arguments, scale),
            Body::Pipe(pipe) => pipes::work(pipe, arguments),
        }
    }

    /// The memory that a launch with these arguments touches, where one byte stands for `scale`:
    /// reads first, then writes.
    ///
    /// # Panics
    ///
    /// When the arguments do not have the types of [`Kernel::parameters`].
    #[must_use]
    pub fn accesses(&self, arguments: &[Argument], scale: u32) -> Vec<Access> {
        match self.body {
            Body::Map(_) => map::accesses(arguments),
            Body::Matmul => matmul::accesses(arguments, scale),
            Body::Network(operation) => network::accesses(operation, arguments),
            Body::Pipe(_) => pipes::accesses(arguments),
        }
    }

    /// The arguments of a launch that touches this memory and does this much work: what
    /// [`work`](Self::work) and [`accesses`](Self::accesses) were told, from what they said. None
    /// where no launch of this kernel does. Of what is as large on every device, such as weights, a
    /// program that was recorded on the simulated one has `copies` words in memory for each.
    #[must_use]
    pub fn arguments(&self, accesses: &[Access], units: u64, copies: u64) -> Option<Vec<Argument>> {
        match self.body {
            Body::Map(_) => map::arguments(accesses, units),
            Body::Matmul => {
                let pointers = accesses.iter().map(|access| Argument::Pointer(access.pointer));
                (accesses.len() == self.parameters.len()).then(|| pointers.collect())
            }
            Body::Network(operation) => network::arguments(operation, accesses, units, copies),
            Body::Pipe(_) => pipes::arguments(accesses, units),
        }
    }

    /// How many rounds of its map a launch with these arguments takes every element through, from
    /// the one range that it reads to the one that it writes; `None` for a kernel of another kind.
    ///
    /// # Panics
    ///
    /// When the arguments do not have the types of [`Kernel::parameters`].
    #[must_use]
    pub fn rounds(&self, arguments: &[Argument]) -> Option<u32> {
        match self.body {
            Body::Map(_) => Some(map::rounds(arguments)),
            Body::Matmul | Body::Network(_) | Body::Pipe(_) => None,
        }
    }

    /// The function that computes what the kernel computes; `None` where the kernel is simulated
    /// for its time alone, and its outputs keep their old contents.
    #[must_use]
    pub fn twin(&self) -> Option<Twin> {
        match self.body {
            Body::Map(stage) => Some(map::twin(stage)),
            Body::Matmul => None,
            Body::Network(operation) => Some(network::twin(operation)),
            Body::Pipe(pipe) => Some(pipes::twin(pipe)),
        }
    }
}

/// The kernel with this entry name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kernel> {
    all().iter().find(|kernel| kernel.name == name)
}

/// Every kernel, grouped by image.
#[must_use]
pub fn all() -> &'static [Kernel] {
    use network::Operation;
    use pipes::Pipe;
    static ALL: [Kernel; 19] = [
        map::kernel(Stage::A),
        map::kernel(Stage::B),
        map::kernel(Stage::C),
        matmul::kernel("matmul_1024", 128, 256, 167, 16_896),
        network::kernel(Operation::Crop),
        network::kernel(Operation::Resize),
        network::kernel(Operation::Flip),
        network::kernel(Operation::Blur),
        network::kernel(Operation::Normalise),
        network::kernel(Operation::Dense),
        network::kernel(Operation::DenseRelu),
        network::kernel(Operation::InputGradient),
        network::kernel(Operation::WeightGradient),
        network::kernel(Operation::Loss),
        network::kernel(Operation::Step),
        pipes::kernel(Pipe::Issue),
        pipes::kernel(Pipe::Latency),
        pipes::kernel(Pipe::Memory),
        pipes::kernel(Pipe::Tensor),
    ];
    &ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of a module with the types of their parameters, as its PTX declares them.
    fn entries(image: &str) -> Vec<(String, Vec<Parameter>)> {
        let mut found = Vec::new();
        for declaration in image.split(".visible .entry ").skip(1) {
            let (name, rest) = declaration.split_once('(').expect("an entry has a parameter list");
            let (list, _) = rest.split_once(')').expect("a parameter list ends");
            let parameters = list
                .split(',')
                .map(|parameter| {
                    let kind = parameter.split_whitespace().nth(1).expect("`.param` has a type");
                    match kind {
                        ".u64" => Parameter::Pointer,
                        ".u32" => Parameter::U32,
                        other => panic!("a parameter of `{name}` is of type `{other}`"),
                    }
                })
                .collect();
            found.push((name.trim().to_owned(), parameters));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    #[test]
    fn the_table_lists_exactly_the_entries_of_each_image_with_their_parameters() {
        for image in [map::IMAGE, matmul::IMAGE, network::IMAGE, pipes::IMAGE, pipes::TENSOR_IMAGE]
        {
            let mut listed: Vec<_> = all()
                .iter()
                .filter(|kernel| kernel.image == image)
                .map(|kernel| (kernel.name.to_owned(), kernel.parameters.to_vec()))
                .collect();
            listed.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(listed, entries(image));
        }
    }

    #[test]
    fn every_image_is_for_drivers_from_r525_on_and_all_but_the_product_for_devices_from_volta_on() {
        for kernel in all() {
            // The JIT of R525 reads PTX up to 8.0; newer drivers read it too.
            assert!(kernel.image.contains("\n.version 8.0\n"), "{}", kernel.name);
            let oldest = if kernel.image == pipes::TENSOR_IMAGE { "sm_80" } else { "sm_70" };
            let target = format!("\n.target {oldest}\n");
            assert!(kernel.image.contains(&target), "{}", kernel.name);
        }
    }

    #[test]
    fn a_kernel_is_found_by_its_entry_name_alone() {
        for kernel in all() {
            assert!(std::ptr::eq(find(kernel.name).expect("it is listed"), kernel));
        }
        assert!(find("map").is_none());
    }

    #[test]
    fn a_launch_is_known_from_what_it_did() {
        for kernel in all() {
            let mut next = 0;
            let arguments: Vec<_> = kernel
                .parameters
                .iter()
                .map(|parameter| {
                    next += 1;
                    match parameter {
                        Parameter::Pointer => Argument::Pointer(0x1000 * next),
                        Parameter::U32 => Argument::U32(100 * next as u32),
                    }
                })
                .collect();
            let accesses = kernel.accesses(&arguments, 1);
            let units = kernel.work(&arguments, 1).units;
            assert_eq!(kernel.arguments(&accesses, units, 1), Some(arguments), "{}", kernel.name);
            assert_eq!(kernel.arguments(&accesses[1..], units, 1), None, "{}", kernel.name);
        }
    }

    #[test]
    fn reads_come_before_writes() {
        for kernel in all() {
            let arguments: Vec<_> = kernel
                .parameters
                .iter()
                .map(|parameter| match parameter {
                    Parameter::Pointer => Argument::Pointer(0x1000),
                    Parameter::U32 => Argument::U32(8),
                })
                .collect();
            let modes: Vec<_> =
                kernel.accesses(&arguments, 1).iter().map(|access| access.mode).collect();
            let first_write =
                modes.iter().position(|mode| *mode == Mode::Write).expect("it writes");
            assert!(
                modes[first_write..].iter().all(|mode| *mode == Mode::Write),
                "{}",
                kernel.name
            );
        }
    }
}
