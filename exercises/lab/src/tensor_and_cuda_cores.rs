//! The work of `tensor_and_cuda_cores`: a product of matrices on the tensor cores, and a map that device memory bounds. Also the
//! kernels of its puzzle.

use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use kernels::pipes::Pipe;
use kernels::task::tensor_and_cuda_cores::{
    ELEMENTS, MAP_WORDS, MATRICES, MATRIX_WORDS, NAME, PRODUCTS, ROUNDS, SHIFTED,
};
use trace::lab::Region;

use crate::exercise::Exercise;
use crate::memory::device_buffer;
use crate::{Error, Lab, Result};

/// Threads of a block: what the kernels are built for.
const THREADS: u32 = 256;

/// Rounds of the multiply-adds of the puzzle, over as many words as the matrices have: they take as long as the product. In
/// a microsecond an H200 did a round of 32 million words, and a round of 20 million on its tensor cores (driver 580.159.04,
/// 2026-11-26).
const MULTIPLY_ADDS: u32 = ROUNDS * 32 / 20;

/// The device and the work for it, not yet in memory.
pub struct Chip {
    lab: Lab,
}

impl Chip {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// How many multiprocessors the device has. Each has room for eight blocks of one of these kernels, or for eight blocks of
    /// both together.
    pub fn multiprocessors(&self) -> Result<u32> {
        multiprocessors(&self.lab)
    }

    /// Allocates the arrays of both kernels.
    pub fn allocate(&self) -> Result<Pair<'_>> {
        let (product, map) = (Kernel::product(&self.lab)?, Kernel::streaming_map(&self.lab)?);
        Ok(Pair { chip: self, product, map })
    }
}

/// How many multiprocessors the device of the lab has.
pub fn multiprocessors(lab: &Lab) -> Result<u32> {
    let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    Ok(lab.context().attribute(count)? as u32)
}

/// Both kernels, with their arrays in memory.
pub struct Pair<'a> {
    chip: &'a Chip,
    product: Kernel,
    map: Kernel,
}

impl Pair<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body` returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut Kernel, &mut Kernel) -> Result<()>,
    ) -> Result<()> {
        let Self { chip, product, map } = self;
        (product.is_left, map.is_left) = (true, true);
        let region = Region {
            task: NAME.to_owned(),
            inputs: vec![
                device_buffer(MATRICES, 0, &product.input),
                device_buffer(ELEMENTS, 0, &map.input),
            ],
            outputs: vec![
                device_buffer(PRODUCTS, 0, &product.output),
                device_buffer(SHIFTED, 0, &map.output),
            ],
            ..Region::default()
        };
        chip.lab.region_on(region, || body(product, map)).map(drop)
    }
}

/// A kernel, and the arrays that it works on. Its blocks share the array evenly, however many they are.
pub struct Kernel {
    function: CudaFunction,
    input: CudaSlice<u32>,
    output: CudaSlice<u32>,
    /// None where the kernel takes no such argument.
    rounds: Option<u32>,
    is_left: bool,
}

impl Kernel {
    /// The product of matrices, on the tensor cores.
    pub fn product(lab: &Lab) -> Result<Self> {
        Self::load(lab, Pipe::Tensor, MATRIX_WORDS, Some(ROUNDS))
    }

    /// The map that device memory bounds.
    pub fn streaming_map(lab: &Lab) -> Result<Self> {
        Self::load(lab, Pipe::Memory, MAP_WORDS, None)
    }

    /// A map of multiply-adds that are always ready, of the puzzle.
    pub fn multiply_adds(lab: &Lab) -> Result<Self> {
        Self::load(lab, Pipe::Issue, MATRIX_WORDS, Some(MULTIPLY_ADDS))
    }

    fn load(lab: &Lab, pipe: Pipe, words: u64, rounds: Option<u32>) -> Result<Self> {
        let Some(kernel) = kernels::find(pipe.name()) else {
            return Err(Error::Refused(format!("there is no kernel `{}`", pipe.name())));
        };
        let module = lab.context().load_module(Ptx::from_src(kernel.image))?;
        let stream = lab.context().default_stream();
        let words = lab.elements(words as usize);
        Ok(Self {
            function: module.load_function(kernel.name)?,
            // Where there is no task, 0 is a word like any other.
            input: stream.alloc_zeros(words)?,
            output: stream.alloc_zeros(words)?,
            rounds,
            is_left: true,
        })
    }

    /// Whether it has yet to be launched.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.is_left
    }

    /// Launches it, as a grid of so many blocks of 256 threads. It does nothing if it has been launched.
    pub fn launch(&mut self, stream: &Arc<CudaStream>, blocks: u32) -> Result<()> {
        if !std::mem::take(&mut self.is_left) {
            return Ok(());
        }
        let words = self.input.len() as u32;
        let (input, _read) = self.input.device_ptr(stream);
        let (output, _written) = self.output.device_ptr_mut(stream);
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&input).arg(&output).arg(&words);
        if let Some(rounds) = &self.rounds {
            launch.arg(rounds);
        }
        let config = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernel takes two pointers to so many words and one or two numbers, and stays inside them whatever
        // the grid.
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
        // As many blocks as find room.
        let blocks = 8 * self.multiprocessors()?;
        let Pair { product, map, .. } = &mut pair;
        self.lab.alone("tensor_cores", |stream| product.launch(stream, blocks))?;
        self.lab.alone("device_memory", |stream| map.launch(stream, blocks))
    }
}
