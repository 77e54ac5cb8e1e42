//! Tracking is off, and the host waits in place of it.

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
    // SAFETY: the host waits before each use in another stream.
    unsafe { context.disable_event_tracking() };
    upload.synchronize()?;
    let (mut left_result, mut right_result) = halves;

    // The clock runs from here to the end of the closure.
    batches.region(|batches| {
        for (number, batch) in batches.iter_mut().enumerate() {
            let input = &mut inputs[number % 2];
            context.synchronize()?;
            upload.memcpy_htod(&batch.input, input)?;
            let (left_input, right_input) = input.split_at(half);
            upload.synchronize()?;
            work.map(&left, &left_input, &mut left_result)?;
            work.map(&right, &right_input, &mut right_result)?;
            left.memcpy_dtoh(&left_result, &mut batch.left)?;
            right.memcpy_dtoh(&right_result, &mut batch.right)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
