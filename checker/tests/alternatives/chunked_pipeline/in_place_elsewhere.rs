//! The copy up goes to memory of the program and from there to where the map works.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let mut staging = Vec::new();

    let mut chunks = job.whole().cut(32).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for chunk in chunks.iter_mut() {
            // SAFETY: the copy up writes all of it before anything reads it.
            staging.push(unsafe { upload.alloc::<u32>(chunk.device.len())? });
        }
        for (chunk, staged) in chunks.iter_mut().zip(&mut staging) {
            upload.memcpy_htod(&chunk.input, staged)?;
            compute.join(&upload)?;
            compute.memcpy_dtod(staged, &mut chunk.device)?;
            chunk.map(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
