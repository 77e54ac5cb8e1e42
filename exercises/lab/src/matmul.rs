//! The matrix multiplication of the puzzles: 1024 by 1024, single precision; nothing reads the
//! result.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use kernels::matmul::SIZE;

use crate::{Lab, Result};

/// A matrix product, with the matrices that it works on.
pub struct Matmul {
    function: CudaFunction,
    threads: u32,
    blocks: u32,
    factor: CudaSlice<u32>,
    product: CudaSlice<u32>,
}

impl Matmul {
    /// Loads the kernel and allocates the matrices.
    pub fn new(lab: &Lab) -> Result<Self> {
        let kernel = kernels::find("matmul_1024").expect("the kernel is in the list");
        let module = lab.context().load_module(Ptx::from_src(kernel.image))?;
        let elements = lab.elements((SIZE * SIZE) as usize);
        let stream = lab.context().default_stream();
        let kernels::Blocks::Exactly(blocks) = kernel.blocks else {
            unreachable!("its grid is fixed")
        };
        Ok(Self {
            function: module.load_function(kernel.name)?,
            threads: kernel.threads,
            blocks,
            factor: stream.alloc_zeros(elements)?,
            product: stream.alloc_zeros(elements)?,
        })
    }

    /// Queues so many products, one after the other.
    pub fn launch_times(&mut self, stream: &Arc<CudaStream>, times: usize) -> Result<()> {
        (0..times).try_for_each(|_| self.launch(stream))
    }

    /// Queues one product.
    pub fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let config = LaunchConfig {
            grid_dim: (self.blocks, 1, 1),
            block_dim: (self.threads, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&self.factor).arg(&self.factor).arg(&mut self.product);
        // SAFETY: the kernel takes three matrices of this size, and the grid that it is built for.
        unsafe { launch.launch(config)? };
        Ok(())
    }
}
