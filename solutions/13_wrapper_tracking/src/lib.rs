//! The solution of `wrapper_tracking`: an allocation for each half's result, and an event for the reader whose own
//! event cudarc overwrites.

use lab::Result;
use lab::wrapper_tracking::Work;

/// Maps both halves of all batches.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let (upload, left, right) =
        (context.new_stream()?, context.new_stream()?, context.new_stream()?);

    let mut batches = work.allocate()?;
    let half = batches.half();
    let mut inputs = [upload.alloc_zeros::<u32>(2 * half)?, upload.alloc_zeros::<u32>(2 * half)?];
    let mut results = upload.alloc_zeros::<u32>(2 * half)?;
    let halves = results.split_at_mut(half);
    // region: memory
    let mut own = upload.alloc_zeros::<u32>(half)?;
    let halves = (halves.0, own.as_view_mut());
    let left_read = [context.new_event(None)?, context.new_event(None)?];
    // endregion
    let (mut left_result, mut right_result) = halves;

    // The clock runs from here to the end of the closure.
    batches.region(|batches| {
        for (number, batch) in batches.iter_mut().enumerate() {
            let input = &mut inputs[number % 2];
            // region: before the upload
            upload.wait(&left_read[number % 2])?;
            // endregion
            upload.memcpy_htod(&batch.input, input)?;
            let (left_input, right_input) = input.split_at(half);
            // region: before the left kernel
            // endregion
            work.map(&left, &left_input, &mut left_result)?;
            // region: before the right kernel
            left_read[number % 2].record(&left)?;
            // endregion
            work.map(&right, &right_input, &mut right_result)?;
            // region: after the kernels
            // endregion
            left.memcpy_dtoh(&left_result, &mut batch.left)?;
            right.memcpy_dtoh(&right_result, &mut batch.right)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
