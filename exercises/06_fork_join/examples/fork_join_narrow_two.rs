//! Two branches of small kernels, each in a stream of its own.

use lab::fork_join::{Branch, KERNELS};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let first = context.new_stream()?;
    let second = context.new_stream()?;
    let (mut left, mut right) = (Branch::narrow(lab)?, Branch::narrow(lab)?);
    lab.region(|| {
        for _ in 0..KERNELS {
            left.launch(&first)?;
            right.launch(&second)?;
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
