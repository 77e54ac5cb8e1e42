//! # Chunked pipelines: fill and drain
//!
//! An array is uploaded, mapped on the device, and downloaded. Each step needs the one before it, so in
//! one piece they can only take turns. Cut the array into chunks, and chunk 2 can be uploaded while
//! chunk 1 is being mapped.
//!
//! **Your task:** use three streams, one for each step, cut the array into several chunks, and hand each
//! chunk from stream to stream by events. Run `cargo run -- run chunked_pipeline` and look at the timeline. How
//! many chunks are enough? How many are too many? `let plan = plan.cut(n);` makes it a plan of `n` chunks.
//!
//! `stream.record_event(None)?` gives you an event, and `other.wait(&event)?` makes another stream wait
//! for it. Edit between the `region` marks only; lines are added, none is changed.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let streams = [
        context.new_stream()?,
        // region: streams
        // endregion
    ];
    // With fewer than three streams, steps share one.
    let copy_in = &streams[0];
    let compute = &streams[1 % streams.len()];
    let copy_out = &streams[2 % streams.len()];

    let plan = job.whole();
    // region: chunks
    // endregion
    let mut chunks = plan.allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for chunk in chunks {
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            // region: handover to the map
            // endregion
            chunk.map(compute)?;
            // region: handover to the copy back
            // endregion
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
