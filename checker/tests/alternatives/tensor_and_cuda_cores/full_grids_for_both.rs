//! Both kernels with full grids, in two streams.

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
        while matmul.left() > 0 {
            matmul.launch(&stream, full)?;
            map.launch(&other, full)?;
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
