//! The baseline of `issue_order`: step by step. Correct, and every engine waits for the one before it.

use lab::Result;
use lab::issue_order::Work;

fn pipeline(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = [
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
    ];
    let mut chunks = work.allocate()?;
    chunks.region(|chunks| {
        for (chunk, stream) in chunks.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
        }
        for (chunk, stream) in chunks.iter_mut().zip(streams.iter().cycle()) {
            chunk.map(stream)?;
        }
        for (chunk, stream) in chunks.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::driver::connections(1);
    lab::exercise!(pipeline)
}
