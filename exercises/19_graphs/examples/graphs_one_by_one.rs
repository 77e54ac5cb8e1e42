//! The updates of 200 tensors, launched one by one into a stream.

use lab::graphs::updates;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let stream = context.new_stream()?;
    let mut kernels = updates(lab)?;
    lab.region(|| {
        for kernel in &mut kernels {
            kernel.launch(&stream)?;
        }
        stream.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
