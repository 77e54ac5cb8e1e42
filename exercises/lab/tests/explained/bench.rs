//! What the programs work with.

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, LaunchConfig, PushKernelArg,
    result,
};
use cudarc::nvrtc::Ptx;
use kernels::Stage;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Nominal size of a block: its copy takes about 300 µs on the H200, as does the kernel over it.
pub(crate) const MIB: usize = 16;

/// A kernel that maps an array in place.
pub(crate) struct Kernel {
    function: CudaFunction,
    /// Blocks of its grid: more than 1055 fill an H200.
    blocks: u32,
    /// How often each element is mapped.
    rounds: u32,
}

impl Kernel {
    /// One that fills the device and takes about as long as a copy.
    pub(crate) fn new(lab: &Lab) -> Result<Self> {
        Self::sized(lab, 1056, 1100)
    }

    pub(crate) fn sized(lab: &Lab, blocks: u32, rounds: u32) -> Result<Self> {
        let module = lab.context().load_module(Ptx::from_src(kernels::map::IMAGE))?;
        Ok(Self { function: module.load_function(Stage::A.name())?, blocks, rounds })
    }

    pub(crate) fn launch(&self, stream: &Arc<CudaStream>, data: &mut CudaSlice<u32>) -> Result<()> {
        let source = data.device_ptr(stream).0;
        self.queue(stream, source, data)
    }

    /// Reads `source`, which is as long as `data`.
    pub(crate) fn launch_with(
        &self,
        stream: &Arc<CudaStream>,
        source: &CudaSlice<u32>,
        data: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let source = source.device_ptr(stream).0;
        self.queue(stream, source, data)
    }

    fn queue(
        &self,
        stream: &Arc<CudaStream>,
        source: u64,
        data: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let elements = data.len() as u32;
        let config = LaunchConfig {
            grid_dim: (self.blocks, 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&source).arg(data).arg(&elements).arg(&self.rounds);
        // SAFETY: the kernel takes two pointers, which may be equal, to this many elements, and two
        // numbers, and it stays inside them whatever the grid.
        unsafe { launch.launch(config)? };
        Ok(())
    }
}

pub(crate) fn stream(lab: &Lab) -> Result<Arc<CudaStream>> {
    Ok(lab.context().new_stream()?)
}

/// Words of a block of so many nominal MiB.
pub(crate) fn words(lab: &Lab, mib: usize) -> usize {
    lab.elements(mib << 18)
}

/// Device memory.
pub(crate) fn device(lab: &Lab) -> Result<CudaSlice<u32>> {
    sized(lab, MIB)
}

pub(crate) fn sized(lab: &Lab, mib: usize) -> Result<CudaSlice<u32>> {
    let data = lab.context().default_stream().alloc_zeros(words(lab, mib))?;
    Ok(data)
}

/// Page-locked host memory.
pub(crate) fn pinned(lab: &Lab) -> Result<HostBlock> {
    HostBlock::new(lab.context(), HostMemory::Pinned, words(lab, MIB))
}

/// As many of them as asked for.
pub(crate) fn each<T>(count: usize, make: impl Fn() -> Result<T>) -> Result<Vec<T>> {
    (0..count).map(|_| make()).collect()
}

/// Waits for the device, as every region does at its end.
pub(crate) fn finish(lab: &Lab) -> Result<()> {
    Ok(lab.context().synchronize()?)
}

/// A chunk of a job that goes through copy, kernel and copy back.
pub(crate) struct Chunk {
    pub(crate) input: HostBlock,
    pub(crate) device: CudaSlice<u32>,
    pub(crate) output: HostBlock,
}

impl Chunk {
    /// So many chunks of so many nominal KiB.
    pub(crate) fn cut(lab: &Lab, chunks: usize, kib: usize) -> Result<Vec<Self>> {
        let words = lab.elements(kib << 8);
        let host = || HostBlock::new(lab.context(), HostMemory::Pinned, words);
        each(chunks, || {
            let device = lab.context().default_stream().alloc_zeros(words)?;
            Ok(Self { input: host()?, device, output: host()? })
        })
    }
}

/// Page-locked host memory of 256 nominal MiB.
pub(crate) fn vast(lab: &Lab) -> Result<HostBlock> {
    HostBlock::new(lab.context(), HostMemory::Pinned, words(lab, 256))
}

/// A copy by the call that is not asynchronous, which cudarc has for no memory of its own.
pub(crate) fn copy_at_once(host: &HostBlock, data: &mut CudaSlice<u32>) -> Result<()> {
    let stream = data.stream().clone();
    let pointer = data.device_ptr_mut(&stream).0;
    // SAFETY: the memory is as long as what is copied there.
    unsafe { result::memcpy_htod_sync(pointer, host.words()?)? };
    Ok(())
}
