//! The job in 256 chunks, issued by a host that takes as long for each call as Python does.

use lab::exercise::Exercise;
use lab::{Job, Lab, Result, torch};

fn program(lab: &Lab) -> Result<()> {
    let job = Job::open(lab)?;
    let context = job.context();
    let up = context.new_stream()?;
    let compute = context.new_stream()?;
    let down = context.new_stream()?;
    let mut chunks = job.whole().cut(256).allocate()?;
    chunks.region(|chunks| {
        for chunk in chunks {
            torch::to_cuda()?;
            up.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.join(&up)?;
            torch::matmul()?;
            chunk.map(&compute)?;
            down.join(&compute)?;
            torch::to_cpu()?;
            down.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
