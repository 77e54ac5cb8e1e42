//! One block of each kernel on each multiprocessor: first all maps, and then all matrix multiplications.

use lab::Result;
use lab::tensor_and_cuda_cores::Chip;

/// Runs both kernels, six times each.
pub fn compute(chip: &Chip) -> Result<()> {
    let context = chip.context();
    let multiprocessors = chip.multiprocessors()?;
    let full = 8 * multiprocessors;
    let stream = context.new_stream()?;
    // region: streams
    let other = context.new_stream()?;
    // endregion
    let mut pair = chip.allocate()?;

    // The clock runs from here to the end of the closure.
    pair.region(|matmul, map| {
        // region: launches
        while map.left() > 0 {
            map.launch(&other, multiprocessors)?;
        }
        while matmul.left() > 0 {
            matmul.launch(&stream, multiprocessors)?;
        }
        // endregion
        while matmul.left() > 0 || map.left() > 0 {
            map.launch(&stream, full)?;
            matmul.launch(&stream, multiprocessors)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
