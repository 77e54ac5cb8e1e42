//! All chunks are one graph.
//!
//! A `PinnedHostSlice` makes the stream wait for an event of its own, which no capture takes; its words do not.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut chunks = job.whole().cut(32).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        let mut words = Vec::new();
        for chunk in chunks.iter_mut() {
            // A borrow of all of a chunk would leave nothing for the map.
            let input = chunk.input.words()?.as_ptr_range();
            let output = chunk.output.words_mut()?.as_mut_ptr_range();
            words.push((input, output));
        }
        upload.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        for (chunk, (input, output)) in chunks.iter_mut().zip(words) {
            let length = chunk.device.len();
            // SAFETY: both are pinned memory of this chunk, as long as its device memory.
            let (input, output) = unsafe {
                let input = std::slice::from_raw_parts(input.start, length);
                (input, std::slice::from_raw_parts_mut(output.start, length))
            };
            upload.memcpy_htod(input, &mut chunk.device)?;
            compute.join(&upload)?;
            chunk.map(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&chunk.device, output)?;
        }
        upload.join(&download)?;
        let graph = upload.end_capture(CUgraphInstantiate_flags(0))?;
        graph.expect("a pipeline is a graph").launch()?;
        upload.synchronize()?;
        Ok(())
    })
}
