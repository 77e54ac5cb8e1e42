//! # Tensor and CUDA cores: two engines, one chip
//!
//! Two kernels have to be run, six times each, and neither needs the other. `matmul` multiplies matrices on the tensor
//! cores, and hardly touches memory. `map` reads an array and writes another one, and hardly computes. Each launch takes
//! what the launch before has made. In the timeline they are called `tensor_product` and `stream_map`.
//!
//! Blocks have 256 threads, and a multiprocessor has room for eight of them, of one kernel or of both. `matmul` has work
//! for one block on each multiprocessor. `map` shares its work evenly among as many blocks as it gets, and as shipped they
//! fill the device.
//!
//! **Your task:** have both kernels run at the same time, on the same multiprocessors. You choose the streams, how many
//! blocks each kernel has, and the order of the launches. Run `cargo run -- run tensor_and_cuda_cores` after each
//! change, and compare what a kernel takes with what it took before.
//!
//! - `matmul.launch(&stream, blocks)?;` launches the next matrix multiplication as a grid of so many blocks, and
//!   `map.launch(&stream, blocks)?;` the next map.
//! - `matmul.left()` and `map.left()` say how many launches are left. What the region `launches` leaves is launched after it.
//!
//! Edit between the `region` marks only. Lines are added, none is changed.

use lab::Result;
use lab::tensor_and_cuda_cores::Chip;

/// Runs both kernels, six times each.
pub fn compute(chip: &Chip) -> Result<()> {
    let context = chip.context();
    let multiprocessors = chip.multiprocessors()?;
    let full = 8 * multiprocessors;
    let stream = context.new_stream()?;
    // region: streams
    // endregion
    let mut pair = chip.allocate()?;

    // The clock runs from here to the end of the closure.
    pair.region(|matmul, map| {
        // region: launches
        // endregion
        while matmul.left() > 0 || map.left() > 0 {
            map.launch(&stream, full)?;
            matmul.launch(&stream, multiprocessors)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
