//! The baseline of `tensor_and_cuda_cores`: both kernels in one stream. Correct, and each has the device to itself.

use lab::Result;
use lab::tensor_and_cuda_cores::Chip;

fn compute(chip: &Chip) -> Result<()> {
    let context = chip.context();
    let full = 8 * chip.multiprocessors()?;
    let stream = context.new_stream()?;
    let mut pair = chip.allocate()?;
    pair.region(|product, map| {
        map.launch(&stream, full)?;
        product.launch(&stream, full)?;
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(compute)
}
