//! The map kernels.

use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr,
    DevicePtrMut, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use kernels::Stage;

use crate::Result;

/// Threads of a block: what the kernels are built for.
const THREADS: u32 = 256;
/// Blocks of this kernel that fill a multiprocessor: 8 of 256 threads and 32 registers.
pub(crate) const MOST_BLOCKS: usize = 8;
/// Elements that each thread has at the least, where there are enough: it works on four at a time.
const ELEMENTS_PER_THREAD: usize = 4;

/// One stage of the maps, with the rounds that a task needs.
#[derive(Clone)]
pub struct Map {
    function: CudaFunction,
    rounds: u32,
    scale: u32,
    multiprocessors: usize,
}

impl Map {
    pub(crate) fn load(
        context: &Arc<CudaContext>,
        stage: Stage,
        rounds: u32,
        scale: u32,
    ) -> Result<Self> {
        let module = context.load_module(Ptx::from_src(kernels::map::IMAGE))?;
        let multiprocessors =
            context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        Ok(Self {
            function: module.load_function(stage.name())?,
            rounds,
            scale,
            multiprocessors: multiprocessors as usize,
        })
    }

    /// The same with other rounds.
    pub(crate) fn with_rounds(&self, rounds: u32) -> Self {
        Self { rounds, ..self.clone() }
    }

    /// How many multiprocessors the device has.
    pub(crate) fn multiprocessors(&self) -> usize {
        self.multiprocessors
    }

    /// Queues the map over all of `data`, in place.
    pub fn launch(&self, stream: &Arc<CudaStream>, data: &mut CudaSlice<u32>) -> Result<()> {
        let blocks = self.full_grid(data.len());
        self.launch_blocks(stream, &mut data.as_view_mut(), blocks)
    }

    /// Queues the map over all of `data`, in place, as a grid of so many blocks.
    pub(crate) fn launch_blocks(
        &self,
        stream: &Arc<CudaStream>,
        data: &mut CudaViewMut<'_, u32>,
        blocks: u32,
    ) -> Result<()> {
        let elements = data.len();
        // Where cudarc tracks, the event is recorded when this goes out of scope, after the launch.
        let (data, _written) = data.device_ptr_mut(stream);
        self.queue(stream, (data, data), elements, blocks)
    }

    /// Queues the map from all of `source` to `target`, which is as long.
    pub(crate) fn launch_between(
        &self,
        stream: &Arc<CudaStream>,
        source: &CudaView<'_, u32>,
        target: &mut CudaViewMut<'_, u32>,
    ) -> Result<()> {
        let blocks = self.full_grid(source.len().min(target.len()));
        self.launch_blocks_between(stream, source, target, blocks)
    }

    /// Queues the map from `source` to `target`, as a grid of so many blocks.
    pub(crate) fn launch_blocks_between(
        &self,
        stream: &Arc<CudaStream>,
        source: &CudaView<'_, u32>,
        target: &mut CudaViewMut<'_, u32>,
        blocks: u32,
    ) -> Result<()> {
        let elements = source.len().min(target.len());
        let (source, _read) = source.device_ptr(stream);
        let (target, _written) = target.device_ptr_mut(stream);
        self.queue(stream, (source, target), elements, blocks)
    }

    /// As many blocks as can be resident, and the same number on each multiprocessor: no wave is
    /// left half full. The grid is the one that the nominal elements ask for.
    pub(crate) fn full_grid(&self, elements: usize) -> u32 {
        self.grid(elements, MOST_BLOCKS)
    }

    /// So many blocks for each multiprocessor, and fewer where threads would have less than what
    /// they work on at a time.
    pub(crate) fn grid(&self, elements: usize, most: usize) -> u32 {
        let nominal = elements * self.scale as usize;
        let per_wave = self.multiprocessors * THREADS as usize * ELEMENTS_PER_THREAD;
        (self.multiprocessors * (nominal / per_wave).clamp(1, most)) as u32
    }

    fn queue(
        &self,
        stream: &Arc<CudaStream>,
        (source, target): (u64, u64),
        elements: usize,
        blocks: u32,
    ) -> Result<()> {
        let elements = elements as u32;
        let config = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&source).arg(&target).arg(&elements).arg(&self.rounds);
        // SAFETY: the kernel takes two pointers, which may be equal, to this many elements, and two
        // numbers, and it stays inside them whatever the grid.
        unsafe { launch.launch(config)? };
        Ok(())
    }
}
