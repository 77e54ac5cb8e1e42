//! The solution of `tensor_and_cuda_cores`: two streams, and one block of each kernel on each multiprocessor.

use lab::Result;
use lab::tensor_and_cuda_cores::Chip;

/// Runs both kernels, six times each.
pub fn compute(chip: &Chip) -> Result<()> {
    let context = chip.context();
    let multiprocessors = chip.multiprocessors()?;
    let full = 8 * multiprocessors;
    let stream = context.new_stream()?;
    // region: streams
    let beside = context.new_stream()?;
    // endregion
    let mut pair = chip.allocate()?;

    // The clock runs from here to the end of the closure.
    pair.region(|matmul, map| {
        // region: launches
        // There is always room for both. And no multiprocessor is ever emptier than another one by more than a block, so the
        // blocks of `matmul` are never crowded on a few.
        while matmul.left() > 0 {
            matmul.launch(&beside, multiprocessors)?;
            map.launch(&stream, multiprocessors)?;
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
