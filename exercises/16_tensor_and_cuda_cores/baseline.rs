//! The baseline of `tensor_and_cuda_cores`: both kernels in one stream. Correct, and each has the device to itself.

use lab::Result;
use lab::tensor_and_cuda_cores::{Chip, STEPS};

fn compute(chip: &Chip) -> Result<()> {
    let context = chip.context();
    let multiprocessors = chip.multiprocessors()?;
    let stream = context.new_stream()?;
    let mut pair = chip.allocate()?;
    pair.region(|matmul, map| {
        for _ in 0..STEPS {
            map.launch(&stream, 8 * multiprocessors)?;
            matmul.launch(&stream, multiprocessors)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(compute)
}
