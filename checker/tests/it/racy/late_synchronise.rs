//! The host wipes what it has sent, and waits for the copies: in this order.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let stream = context.new_stream()?;
    let mut chunks = job.whole().allocate()?;
    chunks.region(|chunks| {
        let chunk = &mut chunks[0];
        stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
        chunk.map(&stream)?;
        stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        chunk.input.words_mut()?.fill(0);
        stream.synchronize()?;
        Ok(())
    })
}
