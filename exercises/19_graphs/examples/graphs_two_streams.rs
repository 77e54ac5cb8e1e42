//! The updates of 200 tensors, launched one by one into two streams in turn.

use lab::graphs::updates;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let mut kernels = updates(lab)?;
    lab.region(|| {
        for (index, kernel) in kernels.iter_mut().enumerate() {
            kernel.launch(&streams[index % 2])?;
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
