//! The job in equal pieces, {chunks} in all, with a stream for each stage.

use lab::exercise::Exercise;
use lab::{Job, Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let job = Job::open(lab)?;
    let context = job.context();
    let up = context.new_stream()?;
    let compute = context.new_stream()?;
    let down = context.new_stream()?;
    let mut chunks = job.whole().cut(lab.number("chunks", 16)?).allocate()?;
    chunks.region(|chunks| {
        for chunk in chunks {
            up.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.join(&up)?;
            chunk.map(&compute)?;
            down.join(&compute)?;
            down.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
