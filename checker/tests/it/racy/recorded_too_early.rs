//! An array is copied to the device, mapped there, and copied back, chunk by chunk.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let copy_in = context.new_stream()?;
    let compute = context.new_stream()?;
    let copy_out = context.new_stream()?;
    let mut chunks = job.whole().cut(16).allocate()?;
    chunks.region(|chunks| {
        for chunk in chunks {
            let uploaded = copy_in.record_event(None)?;
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.wait(&uploaded)?;
            chunk.map(&compute)?;
            let mapped = compute.record_event(None)?;
            copy_out.wait(&mapped)?;
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
