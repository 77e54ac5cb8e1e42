//! Step by step: all copies up, then all maps, then all copies down.

use lab::exercise::Exercise;
use lab::issue_order::Work;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let work = Work::open(lab)?;
    let context = work.context();
    let streams = (0..4).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
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
    lab::puzzle!(program)
}
