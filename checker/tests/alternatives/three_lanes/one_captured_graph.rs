//! The lanes are the branches of a graph.
//!
//! A `PinnedHostSlice` makes the stream wait for an event of its own, which no capture takes; its words do not.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;

    let mut pool = lanes.plan().pin_upload().pin_download().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        let mut up = Vec::new();
        for block in &mut blocks.upload {
            up.push((block.host.words()?, &mut block.device));
        }
        let mut down = Vec::new();
        for block in &mut blocks.download {
            down.push((&block.device, block.host.words_mut()?));
        }
        compute.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        upload.join(&compute)?;
        download.join(&compute)?;
        for block in &mut blocks.resident {
            block.map(&compute)?;
        }
        for (from, to) in up {
            upload.memcpy_htod(from, to)?;
        }
        for (from, to) in down {
            download.memcpy_dtoh(from, to)?;
        }
        compute.join(&upload)?;
        compute.join(&download)?;
        let graph = compute.end_capture(CUgraphInstantiate_flags(0))?;
        graph.expect("three lanes are a graph").launch()?;
        compute.synchronize()?;
        Ok(())
    })
}
