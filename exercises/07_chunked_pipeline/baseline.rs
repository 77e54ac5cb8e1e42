//! The baseline of `chunked_pipeline`: one stream, one chunk. Correct, and nothing overlaps.

use lab::{Job, Result};

fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let stream = context.new_stream()?;
    let mut chunks = job.whole().allocate()?;
    chunks.region(|chunks| {
        for chunk in chunks {
            stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
            chunk.map(&stream)?;
            stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(pipeline)
}
