//! The work of 512 short kernels: launches {launches}, blocks of each {blocks}, streams in turn {n}.

use lab::how_many_lanes::Kernel;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let n = lab.number("n", 1)?;
    let context = lab.context();
    let streams = (0..n).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let mut kernels = Kernel::short(lab, lab.number("launches", 512)?, lab.number("blocks", 1)?)?;
    lab.region(|| {
        for (i, kernel) in kernels.iter_mut().enumerate() {
            let stream = &streams[i % n];
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
