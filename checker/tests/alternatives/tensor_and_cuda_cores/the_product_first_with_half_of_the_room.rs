//! The product first, with an even share of the room.

use lab::Result;
use lab::tensor_and_cuda_cores::Chip;

/// Runs both kernels.
pub fn compute(chip: &Chip) -> Result<()> {
    let context = chip.context();
    let multiprocessors = chip.multiprocessors()?;
    let full = 8 * multiprocessors;
    let one = context.new_stream()?;
    let other = context.new_stream()?;
    let mut pair = chip.allocate()?;

    // The clock runs from here to the end of the closure.
    pair.region(|product, map| {
        // region: launches
        product.launch(&one, 4 * multiprocessors)?;
        map.launch(&other, 4 * multiprocessors)?;
        // endregion
        if map.is_left() {
            map.launch(&other, full)?;
        }
        if product.is_left() {
            product.launch(&one, full)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
