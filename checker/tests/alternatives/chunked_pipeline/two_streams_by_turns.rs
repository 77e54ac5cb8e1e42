//! Each chunk goes all its way in one of two streams: two engines of three at work.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut chunks = job.whole().cut(32).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for (chunk, stream) in chunks.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
            chunk.map(stream)?;
            stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
