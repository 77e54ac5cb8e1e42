//! 512 short kernels of one block, all in one stream.
//!
//! Run it with `cargo run -- run how_many_lanes --program tiny_one`.

use lab::how_many_lanes::Kernel;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let n = 1;
    let context = lab.context();
    let streams = (0..n).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let mut kernels = Kernel::short(lab, 512, 1)?;
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
