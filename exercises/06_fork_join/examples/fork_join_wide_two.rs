//! Two branches of kernels with one block on each multiprocessor, each in a stream of its own.

use lab::fork_join::{Branch, KERNELS};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let first = context.new_stream()?;
    let second = context.new_stream()?;
    let (mut left, mut right) = (Branch::wide(lab)?, Branch::wide(lab)?);
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
