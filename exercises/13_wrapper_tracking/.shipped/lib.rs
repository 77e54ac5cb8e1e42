//! # Automatic event tracking
//!
//! The program uploads 16 batches in the stream `upload`. Each half of a batch has a kernel and a stream of its
//! own: `left` maps and downloads the first half, `right` maps and downloads the second. Two inputs on the device
//! are used in turn. The halves are independent, so one half could be downloaded while the other is mapped.
//!
//! That does not happen. No line here waits for an event, but the event tracking of cudarc is on, as in every
//! program that does not turn it off. Before each use of device memory, cudarc makes the stream wait for
//! earlier uses, and after it, it records an event. It keeps these events for an allocation and not for a
//! part of one. Both results are parts of one allocation, so `left` and `right` wait for each other.
//!
//! **Your task:** get rid of these waits, and keep the results right. Run
//! `cargo run -- run wrapper_tracking`, look at what runs beside a download, and read what the report says after
//! your first change.
//!
//! - `upload.alloc_zeros::<u32>(half)?` allocates device memory. `as_view_mut()` is a view of all of it.
//! - `halves` is a pair of views: the result of the left half, then the result of the right half.
//! - `context.new_event(None)?` makes an event. `event.record(&stream)?` records it, and `stream.wait(&event)?`
//!   makes a stream wait for it.
//!
//! Edit between the `region` marks only. Lines are added, none is changed.

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
    // endregion
    let (mut left_result, mut right_result) = halves;

    // The clock runs from here to the end of the closure.
    batches.region(|batches| {
        for (number, batch) in batches.iter_mut().enumerate() {
            let input = &mut inputs[number % 2];
            // region: before the upload
            // endregion
            upload.memcpy_htod(&batch.input, input)?;
            let (left_input, right_input) = input.split_at(half);
            // region: before the left kernel
            // endregion
            work.map(&left, &left_input, &mut left_result)?;
            // region: before the right kernel
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
