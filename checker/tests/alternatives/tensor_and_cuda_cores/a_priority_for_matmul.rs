//! The matrix multiplications in a stream of the highest priority. The maps have full grids.

use lab::Result;
use lab::tensor_and_cuda_cores::Chip;

/// Runs both kernels, six times each.
pub fn compute(chip: &Chip) -> Result<()> {
    let context = chip.context();
    let multiprocessors = chip.multiprocessors()?;
    let full = 8 * multiprocessors;
    let stream = context.new_stream()?;
    // region: streams
    let (_, highest) = cudarc::driver::result::stream::get_priority_range()?;
    let fast = context.new_stream_with_priority(highest)?;
    // endregion
    let mut pair = chip.allocate()?;

    // The clock runs from here to the end of the closure.
    pair.region(|matmul, map| {
        // region: launches
        while matmul.left() > 0 {
            map.launch(&stream, full)?;
            matmul.launch(&fast, multiprocessors)?;
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
