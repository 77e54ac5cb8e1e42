//! R77: a graph of thousands of nodes, launched thousands of times

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    use cudarc::driver::sys;
    let maker = session.context().new_stream()?;
    let block = maker.alloc_zeros::<u32>(64)?;
    let at = { use cudarc::driver::DevicePtr as _; block.device_ptr(&maker).0 };
    maker.synchronize()?;
    // SAFETY: the block is there to the end, and handles are those that were given.
    unsafe {
        let (mut graph, mut launched) = (std::ptr::null_mut(), std::ptr::null_mut());
        sys::cuStreamBeginCapture_v2(maker.cu_stream(), sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED);
        for _ in 0..5_000 {
            sys::cuMemsetD32Async(at, 0, 64, maker.cu_stream());
        }
        sys::cuStreamEndCapture(maker.cu_stream(), &raw mut graph);
        sys::cuGraphInstantiateWithFlags(&raw mut launched, graph, 0);
        for _ in 0..5_000 {
            if sys::cuGraphLaunch(launched, maker.cu_stream()) != sys::CUresult::CUDA_SUCCESS {
                break;
            }
        }
    }
    maker.synchronize()?;
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
