//! The map kernels.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use kernels::Stage;

use crate::Result;

/// Threads of a block: what the kernels are built for.
const THREADS: u32 = 256;
/// Elements that a thread works on. Blocks are then short against any chunk, so that the last of them
/// leave few multiprocessors idle.
const ELEMENTS_PER_THREAD: usize = 8;

/// One stage of the maps, with the rounds that a task needs.
#[derive(Clone)]
pub struct Map {
    function: CudaFunction,
    rounds: u32,
    scale: u32,
}

impl Map {
    pub(crate) fn load(
        context: &Arc<CudaContext>,
        stage: Stage,
        rounds: u32,
        scale: u32,
    ) -> Result<Self> {
        let module = context.load_module(Ptx::from_src(kernels::map::IMAGE))?;
        Ok(Self { function: module.load_function(stage.name())?, rounds, scale })
    }

    /// Queues the map over all of `data`, in place.
    pub fn launch(&self, stream: &Arc<CudaStream>, data: &mut CudaSlice<u32>) -> Result<()> {
        let elements = data.len() as u32;
        // The grid keeps the shape that it has for the nominal elements.
        let per_block = THREADS as usize * ELEMENTS_PER_THREAD;
        let blocks = (data.len() * self.scale as usize).div_ceil(per_block).max(1) as u32;
        let config = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let source = {
            use cudarc::driver::DevicePtr;
            data.device_ptr(stream).0
        };
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&source).arg(data).arg(&elements).arg(&self.rounds);
        // SAFETY: the kernel takes two pointers, which may be equal, to this many elements, and two
        // numbers, and it stays inside them whatever the grid.
        unsafe { launch.launch(config)? };
        Ok(())
    }
}
