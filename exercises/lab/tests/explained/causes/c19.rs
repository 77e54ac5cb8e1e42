//! `SWIM-C19`, rebuilt-graph.

use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{
    CUgraphInstantiate_flags as Flags,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as THREAD_LOCAL,
};

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (stream, kernel) = (stream(lab)?, Kernel::sized(lab, 16, 20)?);
    let (mut data, mode) = (sized(lab, 1)?, THREAD_LOCAL);
    lab.region(|| {
        // listing: SWIM-C19
        for _ in 0..8 {
            stream.begin_capture(mode)?;
            kernel.launch(&stream, &mut data)?;
            let graph = stream.end_capture(Flags(0))?; // a new graph of the same kernel
            graph.iter().try_for_each(CudaGraph::launch)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (stream, kernel) = (stream(lab)?, Kernel::sized(lab, 16, 20)?);
    let (mut data, mode) = (sized(lab, 1)?, THREAD_LOCAL);
    lab.region(|| {
        // listing: SWIM-C19
        stream.begin_capture(mode)?;
        kernel.launch(&stream, &mut data)?;
        let graph = stream.end_capture(Flags(0))?;
        for _ in 0..8 {
            graph.iter().try_for_each(CudaGraph::launch)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
