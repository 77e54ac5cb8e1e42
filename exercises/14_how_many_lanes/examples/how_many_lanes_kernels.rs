//! Kernels of one block, {n} in all, each in a stream of its own.

use lab::how_many_lanes::Kernel;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let n = lab.number("n", 8)?;
    let context = lab.context();
    let streams = (0..n).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let mut kernels = Kernel::long(lab, n)?;
    lab.region(|| {
        for (kernel, stream) in kernels.iter_mut().zip(&streams) {
            kernel.launch(stream)?;
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
