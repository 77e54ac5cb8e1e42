//! The work of `tensor_and_cuda_cores`: matrix multiplications on the tensor cores, and maps that
//! device memory bounds. Also the kernels of its puzzle.

use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use kernels::pipes::Pipe;
use kernels::task::tensor_and_cuda_cores::{
    ELEMENTS, MAP_ROUNDS, MAP_WORDS, MATRICES, MATRIX_WORDS, NAME, PRODUCTS, ROUNDS, SHIFTED,
};
use trace::lab_protocol::Region;

use crate::exercise::Exercise;
use crate::memory::device_buffer;
use crate::{Error, Lab, Result};

pub use kernels::task::tensor_and_cuda_cores::STEPS;

/// Threads of a block: what the kernels are built for.
const THREADS: u32 = 256;

/// A kernel of the puzzle takes so many times as long as one of the exercise: there is one of each,
/// and its output need not be looked at.
const LONG: u32 = 4;

/// Rounds of the multiply-adds of the puzzle, over as many words as the matrices have: they take as
/// long as a long multiplication. In a microsecond an H200 did a round of 32 million words, and a
/// round of 20 million on its tensor cores (driver 580.159.04, 2026-11-26).
const MULTIPLY_ADDS: u32 = LONG * ROUNDS * 32 / 20;

/// How many multiprocessors the device of the lab has.
pub fn multiprocessors(lab: &Lab) -> Result<u32> {
    let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    Ok(lab.context().attribute(count)? as u32)
}

/// The device and the work for it, not yet in memory.
pub struct Chip {
    lab: Lab,
}

impl Chip {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// How many multiprocessors the device has. Each has room for eight blocks: of one of these
    /// kernels, or of both.
    pub fn multiprocessors(&self) -> Result<u32> {
        multiprocessors(&self.lab)
    }

    /// Allocates the arrays of both kernels.
    pub fn allocate(&self) -> Result<Pair<'_>> {
        let kernel = |pipe, words, rounds| Kernel::load(&self.lab, pipe, words, rounds, STEPS);
        let matmul = kernel(Pipe::Tensor, MATRIX_WORDS, ROUNDS)?;
        let map = kernel(Pipe::Memory, MAP_WORDS, MAP_ROUNDS)?;
        Ok(Pair { chip: self, matmul, map })
    }
}

/// Both kernels, with their arrays in memory.
pub struct Pair<'a> {
    chip: &'a Chip,
    matmul: Kernel,
    map: Kernel,
}

impl Pair<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut Kernel, &mut Kernel) -> Result<()>,
    ) -> Result<()> {
        let Self { chip, matmul, map } = self;
        (matmul.left, map.left) = (STEPS, STEPS);
        let region = Region {
            task: NAME.to_owned(),
            inputs: vec![
                device_buffer(MATRICES, 0, matmul.made()),
                device_buffer(ELEMENTS, 0, map.made()),
            ],
            // Two arrays in turn, an even number of times.
            outputs: vec![
                device_buffer(PRODUCTS, 0, matmul.made()),
                device_buffer(SHIFTED, 0, map.made()),
            ],
            ..Region::default()
        };
        chip.lab.region_on(region, || body(matmul, map)).map(drop)
    }
}

const _: () = assert!(STEPS.is_multiple_of(2), "the last step writes where the first one reads");

/// A kernel that is launched several times, each time on what the time before has made. Its blocks
/// share the work evenly, however many they are; `matmul` has work for one block on each
/// multiprocessor, and further blocks of it end at once.
pub struct Kernel {
    function: CudaFunction,
    /// It reads one and writes the other, in turn.
    arrays: [CudaSlice<u32>; 2],
    rounds: u32,
    left: u32,
}

impl Kernel {
    /// The matrix multiplication, on the tensor cores.
    pub fn matmul(lab: &Lab) -> Result<Self> {
        Self::load(lab, Pipe::Tensor, MATRIX_WORDS, LONG * ROUNDS, 1)
    }

    /// The map that device memory bounds.
    pub fn streaming_map(lab: &Lab) -> Result<Self> {
        Self::load(lab, Pipe::Memory, MAP_WORDS, LONG * MAP_ROUNDS, 1)
    }

    /// A map of multiply-adds that are always ready, of the puzzle.
    pub fn multiply_adds(lab: &Lab) -> Result<Self> {
        Self::load(lab, Pipe::Issue, MATRIX_WORDS, MULTIPLY_ADDS, 1)
    }

    fn load(lab: &Lab, pipe: Pipe, words: u64, rounds: u32, left: u32) -> Result<Self> {
        let Some(kernel) = kernels::find(pipe.name()) else {
            return Err(Error::Refused(format!("there is no kernel `{}`", pipe.name())));
        };
        let (major, minor) = lab.context().compute_capability()?;
        if pipe == Pipe::Tensor && major < 8 {
            return Err(Error::Refused(format!(
                "the matrix multiplication needs a GPU of compute capability 8.0 or later, and this one has {major}.{minor}; \
                 use `--device sim`"
            )));
        }
        let module = lab.context().load_module(Ptx::from_src(kernel.image))?;
        let stream = lab.context().default_stream();
        let words = lab.elements(words as usize);
        // Where there is no task, 0 is a word like any other.
        let arrays = [stream.alloc_zeros(words)?, stream.alloc_zeros(words)?];
        Ok(Self { function: module.load_function(kernel.name)?, arrays, rounds, left })
    }

    /// How many times it has yet to be launched.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// The array that it reads next.
    fn made(&self) -> &CudaSlice<u32> {
        &self.arrays[self.left as usize % 2]
    }

    /// Launches it once more, as a grid of so many blocks of 256 threads. It does nothing if
    /// nothing is left.
    pub fn launch(&mut self, stream: &Arc<CudaStream>, blocks: u32) -> Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        let [even, odd] = &mut self.arrays;
        let (input, output) = if self.left.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        self.left -= 1;
        let words = input.len() as u32;
        let (input, _read) = input.device_ptr(stream);
        let (output, _written) = output.device_ptr_mut(stream);
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&input).arg(&output).arg(&words).arg(&self.rounds);
        let config = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernel takes two pointers to so many words and two numbers, and stays inside
        // them whatever the grid.
        unsafe { launch.launch(config)? };
        Ok(())
    }
}

impl Exercise for Chip {
    fn open(lab: &Lab) -> Result<Self> {
        Ok(Self { lab: lab.clone() })
    }

    fn calibrate(&self) -> Result<()> {
        let mut pair = self.allocate()?;
        let multiprocessors = self.multiprocessors()?;
        let Pair { matmul, map, .. } = &mut pair;
        let all = |kernel: &mut Kernel, stream: &Arc<CudaStream>, blocks| {
            (0..STEPS).try_for_each(|_| kernel.launch(stream, blocks))
        };
        self.lab.alone("tensor_cores", |stream| all(matmul, stream, multiprocessors))?;
        self.lab.alone("device_memory", |stream| all(map, stream, 8 * multiprocessors))
    }
}
