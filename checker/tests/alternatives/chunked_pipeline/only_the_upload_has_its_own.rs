//! The copy up has a stream, map and copy down share one.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let (upload, rest) = (context.new_stream()?, context.new_stream()?);

    let mut chunks = job.whole().cut(32).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for chunk in chunks {
            upload.memcpy_htod(&chunk.input, &mut chunk.device)?;
            rest.join(&upload)?;
            chunk.map(&rest)?;
            rest.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
