//! What comes back comes in ordinary memory that cudarc allocates, and is put where it belongs: slow, and right.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut chunks = job.whole().cut(32).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for chunk in chunks {
            upload.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.join(&upload)?;
            chunk.map(&compute)?;
            download.join(&compute)?;
            let words = download.clone_dtoh(&chunk.device)?;
            chunk.output.words_mut()?.copy_from_slice(&words);
        }
        Ok(())
    })
}
