//! R54: kernels that run at the same time on a large block, each with results of its own

use std::sync::Arc;

use cudarc::driver::{CudaStream, LaunchConfig, PushKernelArg};
use lab::Result;
use lab::first_launch::Session;

const IMAGE: &str = r###"@TEXT exercises/lab/kernels/ptx/map.ptx@"###;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let hoard = session.context();
    let kernel = hoard.load_module(cudarc::nvrtc::Ptx::from_src(IMAGE))?.load_function("map_a")?;
    let block = hoard.default_stream().alloc_zeros::<u32>(64 << 20)?;
    let streams = (0..14).map(|_| hoard.new_stream()).collect::<std::result::Result<Vec<Arc<CudaStream>>, _>>()?;
    for stream in &streams {
        let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        let (elements, rounds) = (64_u32 << 20, 1_u32);
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&block).arg(&block).arg(&elements).arg(&rounds);
        // SAFETY: the kernel stays inside of the block.
        unsafe { launch.launch(config)? };
    }
    hoard.synchronize()?;
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    })
}
