//! As many streams as chunks.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    const CHUNKS: usize = 32;
    let streams =
        (0..CHUNKS).map(|_| context.new_stream()).collect::<std::result::Result<Vec<_>, _>>()?;

    let mut chunks = job.whole().cut(CHUNKS).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for (chunk, stream) in chunks.iter_mut().zip(&streams) {
            stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
            chunk.map(stream)?;
            stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        streams.iter().try_for_each(|stream| stream.synchronize())?;
        Ok(())
    })
}
