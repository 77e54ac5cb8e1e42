//! The updates of 200 tensors, launched one by one into a stream, {n} times.

use lab::graphs::updates;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let stream = context.new_stream()?;
    let mut kernels = updates(lab)?;
    let n = lab.number("n", 1)?;
    lab.region(|| {
        for _ in 0..n {
            for kernel in &mut kernels {
                kernel.launch(&stream)?;
            }
        }
        stream.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
