//! Chunks take turns on each stream; the handover is by events that are made once and used again.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let copy_in = context.new_stream()?;
    let compute = context.new_stream()?;
    let copy_out = context.new_stream()?;
    let uploaded = context.new_event(None)?;
    let mapped = context.new_event(None)?;
    let mut chunks = job.whole().cut(16).allocate()?;
    chunks.region(|chunks| {
        for (index, chunk) in chunks.iter_mut().enumerate() {
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            if index == 0 {
                uploaded.record(&copy_in)?;
            }
            compute.wait(&uploaded)?;
            chunk.map(&compute)?;
            mapped.record(&compute)?;
            copy_out.wait(&mapped)?;
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
