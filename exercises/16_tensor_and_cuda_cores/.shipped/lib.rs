//! # Tensor and CUDA cores: two engines, one chip
//!
//! Two kernels have to be run, and neither needs the other. The *product* multiplies matrices on the tensor cores, and hardly
//! touches memory. The *map* reads an array and writes another one, and hardly computes. Both are given, with blocks
//! of 256 threads. A multiprocessor has room for eight of these blocks, of one kernel or of both together.
//!
//! The blocks of a grid share the work evenly, however many they are. As shipped, there are two streams, and each grid fills
//! the device.
//!
//! **Your task:** have both kernels run at the same time, on the same multiprocessors. You choose how many blocks each kernel
//! has, and which one is launched first. Run `cargo run -- run tensor_and_cuda_cores` after each change, and compare what each
//! kernel takes with what it took before.
//!
//! - `product.launch(&one, blocks)?;` launches the product as a grid of so many blocks in stream `one`, and
//!   `map.launch(&other, blocks)?;` does the same with the map.
//! - What is not launched inside the region is launched after it, with a full grid.
//!
//! Edit between the `region` marks only. Lines are added, none is changed.

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
