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
        // All copies first, then all kernels, then all copies back.
        let mut uploaded = Vec::new();
        for chunk in chunks.iter_mut() {
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            uploaded.push(copy_in.record_event(None)?);
        }
        let mut mapped = Vec::new();
        for (index, chunk) in chunks.iter_mut().enumerate() {
            compute.wait(&uploaded[index.saturating_sub(1)])?;
            chunk.map(&compute)?;
            mapped.push(compute.record_event(None)?);
        }
        for (chunk, mapped) in chunks.iter_mut().zip(&mapped) {
            copy_out.wait(mapped)?;
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
