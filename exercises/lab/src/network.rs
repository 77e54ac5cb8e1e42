//! Launching the layers of a network.

use std::ffi::{CString, c_void};
use std::sync::{Arc, OnceLock};

use cudarc::driver::result::{launch_kernel, module};
use cudarc::driver::sys::{CUfunction, CUmodule};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use kernels::network::{Operation, Shape, THREADS};
use kernels::task::training::Layer;

use crate::{Error, Lab, Result, torch};

/// The most arguments that a kernel of a network has.
const MOST_ARGUMENTS: usize = 8;

/// The kernels of a network.
#[derive(Clone)]
pub(crate) struct Layers {
    module: Arc<Module>,
    scale: u64,
    by_python: bool,
}

/// A module with the entries of the operations that were named, until it is dropped.
struct Module {
    module: CUmodule,
    functions: [OnceLock<CUfunction>; Operation::ALL.len()],
}

// SAFETY: handles of the driver are good in every thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // Nothing could be done about an error, and the process's end unloads it too.
        // SAFETY: it was loaded, and nothing launches its functions any more.
        let _ = unsafe { module::unload(self.module) };
    }
}

impl Layers {
    pub(crate) fn load(lab: &Lab) -> Result<Self> {
        lab.context().bind_to_thread()?;
        let image = text(kernels::network::IMAGE)?;
        // SAFETY: the image is PTX, and ends in a zero byte.
        let module = unsafe { module::load_data(image.as_ptr().cast())? };
        let module = Module { module, functions: Default::default() };
        Ok(Self { module: Arc::new(module), scale: lab.scale.into(), by_python: false })
    }

    /// The same, each launch after what an operator of PyTorch costs the host.
    pub(crate) fn issued_by_python(self) -> Self {
        Self { by_python: true, ..self }
    }

    /// How many nominal rows there are for one in memory.
    pub(crate) fn scale(&self) -> u64 {
        self.scale
    }

    /// A launch over a layer of this shape, its rows being those in memory, with what it reads and
    /// then what it writes. The grid is the one that the nominal rows ask for.
    pub(crate) fn launch(
        &self,
        operation: Operation,
        shape: &Shape,
        operands: &[&CudaSlice<u32>],
    ) -> Result<Launch> {
        let address = |slice: &&CudaSlice<u32>| slice.device_ptr(slice.stream()).0;
        let mut pointers: Vec<u64> = operands.iter().map(address).collect();
        // What is written in place comes first: the kernel has one pointer for both.
        if operation == Operation::Step {
            pointers.rotate_right(1);
        }
        let mut arguments = [0; MOST_ARGUMENTS];
        for (place, argument) in arguments.iter_mut().zip(operation.arguments(&pointers, shape)) {
            *place = match argument {
                kernels::Argument::Pointer(at) => at,
                kernels::Argument::U32(number) => number.into(),
            };
        }
        let rows = if operation == Operation::Step { shape.rows } else { shape.rows * self.scale };
        let function = Operation::ALL.iter().position(|it| *it == operation).unwrap_or_default();
        if self.module.functions[function].get().is_none() {
            // SAFETY: the module is loaded.
            let found =
                unsafe { module::get_function(self.module.module, text(operation.name())?)? };
            self.module.functions[function].get_or_init(|| found);
        }
        Ok(Launch {
            module: Arc::clone(&self.module),
            function,
            blocks: operation.blocks(&Shape { rows, ..*shape }) as u32,
            arguments,
            by_python: self.by_python,
        })
    }
}

/// The kernels of a network, and how large its batches are.
pub(crate) struct Sizes {
    /// Where it runs.
    pub(crate) lab: Lab,
    /// The kernels.
    pub(crate) layers: Layers,
    /// Images of a batch.
    pub(crate) batch: usize,
}

impl Sizes {
    pub(crate) fn of(lab: &Lab, batch: usize) -> Result<Self> {
        Ok(Self { lab: lab.clone(), layers: Layers::load(lab)?, batch })
    }

    /// The same, each launch after what an operator of PyTorch costs the host.
    pub(crate) fn issued_by_python(self) -> Self {
        Self { layers: self.layers.issued_by_python(), ..self }
    }

    /// Words of a batch, of so many of an image.
    pub(crate) fn words(&self, of_an_image: u64) -> usize {
        (of_an_image * self.batch as u64 / self.layers.scale()) as usize
    }

    /// Memory of the device for a batch, of so many words of an image.
    pub(crate) fn device(&self, of_an_image: u64) -> Result<CudaSlice<u32>> {
        self.memory(self.words(of_an_image))
    }

    /// Memory of the device, of so many words.
    pub(crate) fn memory(&self, words: usize) -> Result<CudaSlice<u32>> {
        Ok(self.lab.context().default_stream().alloc_zeros(words)?)
    }

    /// A layer for a batch.
    pub(crate) fn shape(&self, layer: &Layer) -> Shape {
        layer.shape(self.batch as u64, self.layers.scale())
    }
}

fn text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|it| Error::Refused(it.to_string()))
}

/// A launch that is ready but for where it goes.
///
/// A step of training is fifteen launches of a few microseconds each. cudarc's launch builder,
/// compiled for finding errors, takes as long again as the call itself; here nothing is left to do
/// but the call.
pub(crate) struct Launch {
    module: Arc<Module>,
    function: usize,
    blocks: u32,
    arguments: [u64; MOST_ARGUMENTS],
    by_python: bool,
}

impl Launch {
    /// Says where one of its pointers leads.
    pub(crate) fn put(&mut self, pointer: usize, memory: &CudaSlice<u32>, stream: &CudaStream) {
        self.arguments[pointer] = memory.device_ptr(stream).0;
    }

    /// Queues it.
    pub(crate) fn queue(&mut self, stream: &CudaStream) -> Result<()> {
        if self.by_python {
            torch::operator()?;
        }
        let function = self.module.functions[self.function].get().copied();
        let mut places = [std::ptr::null_mut::<c_void>(); MOST_ARGUMENTS];
        for (place, argument) in places.iter_mut().zip(&mut self.arguments) {
            *place = std::ptr::from_mut(argument).cast();
        }
        // SAFETY: the arguments are those of the kernel, of which the driver reads as many bytes as
        // each has. The memory is as long as the shape says, and the kernel stays inside it
        // whatever the grid.
        unsafe {
            launch_kernel(
                function.unwrap_or(std::ptr::null_mut()),
                (self.blocks, 1, 1),
                (THREADS, 1, 1),
                0,
                stream.cu_stream(),
                &mut places,
            )?;
        }
        Ok(())
    }
}
