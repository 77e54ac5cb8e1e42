//! R79: calls with handles, addresses and sizes that there are not

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    use cudarc::driver::sys;
    let maker = session.context().new_stream()?;
    let hostile = [0_u64, 1, 2, 3, 0xdead, 0x5700_0010, 0x0200_0000_0000, u64::MAX / 2, u64::MAX - 7, u64::MAX];
    // SAFETY: none: each is to be refused, in words or by a code.
    unsafe {
        for a in hostile {
            for b in hostile {
                let (stream, event) = (a as sys::CUstream, b as sys::CUevent);
                _ = sys::cuMemcpyDtoDAsync_v2(a, b, b as usize, maker.cu_stream());
                _ = sys::cuMemsetD32Async(a, 1, b as usize, maker.cu_stream());
                _ = sys::cuMemcpyHtoDAsync_v2(a, b as *const _, a as usize, maker.cu_stream());
                _ = sys::cuMemcpyDtoHAsync_v2(a as *mut _, b, b as usize, maker.cu_stream());
                _ = sys::cuStreamWaitEvent(stream, event, 0);
                _ = sys::cuEventRecord(event, stream);
                _ = sys::cuMemFreeAsync(a, stream);
                _ = sys::cuGraphLaunch(b as sys::CUgraphExec, stream);
                _ = sys::cuStreamEndCapture(stream, &mut std::ptr::null_mut());
                _ = sys::cuEventElapsedTime_v2(&mut 0.0, event, a as sys::CUevent);
            }
            _ = sys::cuMemAlloc_v2(&mut 0, a as usize);
            _ = sys::cuMemFree_v2(a);
            _ = sys::cuMemFreeHost(a as *mut _);
            _ = sys::cuStreamDestroy_v2(a as sys::CUstream);
            _ = sys::cuEventDestroy_v2(a as sys::CUevent);
            _ = sys::cuModuleUnload(a as sys::CUmodule);
        }
    }
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
