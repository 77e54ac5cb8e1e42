//! The solution of `chunked_pipeline`: three streams, thirty-two chunks, and an event at each handover.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let streams = [
        context.new_stream()?,
        // region: streams
        context.new_stream()?,
        context.new_stream()?,
        // endregion
    ];
    // With fewer than three streams, steps share one.
    let copy_in = &streams[0];
    let compute = &streams[1 % streams.len()];
    let copy_out = &streams[2 % streams.len()];

    let plan = job.whole();
    // region: chunks
    // Filling and draining cost a chunk each: more chunks are better, until the cost of each operation
    // shows.
    let plan = plan.cut(32);
    // endregion
    let mut chunks = plan.allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for chunk in chunks {
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            // region: handover to the map
            let uploaded = copy_in.record_event(None)?;
            compute.wait(&uploaded)?;
            // endregion
            chunk.map(compute)?;
            // region: handover to the copy back
            let mapped = compute.record_event(None)?;
            copy_out.wait(&mapped)?;
            // endregion
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
