//! One kernel of {blocks} blocks, each with the work of a kernel above.

use lab::how_many_lanes::Kernel;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let blocks = lab.number("blocks", 160)?;
    let context = lab.context();
    let stream = context.new_stream()?;
    let mut kernel = Kernel::wide(lab, blocks)?;
    lab.region(|| {
        kernel.launch(&stream)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
