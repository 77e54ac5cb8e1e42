//! Two pairs of streams: even chunks on one, odd chunks on the other.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let streams = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let mut chunks = job.whole().cut(16).allocate()?;
    chunks.region(|chunks| {
        for (index, chunk) in chunks.iter_mut().enumerate() {
            let stream = &streams[index % 3];
            stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
            chunk.map(stream)?;
        }
        for (index, chunk) in chunks.iter_mut().enumerate() {
            let stream = &streams[index % 2];
            stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
