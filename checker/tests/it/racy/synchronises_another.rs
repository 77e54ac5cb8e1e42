//! An array is copied to the device, mapped there, and copied back, chunk by chunk.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let copy_in = context.new_stream()?;
    let compute = context.new_stream()?;
    let copy_out = context.new_stream()?;
    let mut chunks = job.whole().cut(4).allocate()?;
    chunks.region(|chunks| {
        for chunk in chunks.iter_mut() {
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
        }
        copy_in.synchronize()?;
        for chunk in chunks.iter_mut() {
            chunk.map(&compute)?;
        }
        copy_in.synchronize()?;
        for chunk in chunks.iter_mut() {
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
