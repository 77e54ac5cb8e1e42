//! The solution of `tensor_and_cuda_cores`: two streams, and grids of `map` that leave room for `matmul`.

use lab::Result;
use lab::tensor_and_cuda_cores::Chip;

/// Runs both kernels, twelve times each.
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
        // One block of `matmul` and seven of `map` on each multiprocessor: neither ever waits for room, whichever comes first.
        while matmul.left() > 0 {
            matmul.launch(&beside, multiprocessors)?;
            map.launch(&stream, 7 * multiprocessors)?;
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
