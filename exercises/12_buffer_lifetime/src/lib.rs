//! # Buffer lifetime
//!
//! The program uploads 16 batches in the stream `upload`, maps each of them in `compute`, and downloads the results in
//! `download`. Events order the three steps of a batch. Device memory comes from a caching allocator: when a tensor is
//! dropped, its block goes to the next `allocate` of the same stream, at once and without a wait. The task allows
//! four blocks at one time.
//!
//! Both tensors of a batch are used by a second stream: `compute` reads what belongs to `upload`, and `download`
//! reads what belongs to `compute`. So before the tensors are dropped, the host waits until the download is done. It is
//! safe, it needs two blocks, and no two engines ever work at the same time.
//!
//! **Your task:** get rid of this wait, and give each block back neither too early nor too late. Run
//! `cargo run -- run buffer_lifetime`, and watch the line `device memory` of the report.
//!
//! - A tensor is dropped, and its block is free, at the end of the iteration, unless you move it to where it lives longer:
//!   `let older = kept.replace((input, result));` keeps these two and takes out the two before.
//! - `input.record_stream(&compute)` says that `compute` uses the block too. It comes back once `compute` has done
//!   all that is in it when the tensor is dropped.
//! - `let done = compute.record_event(None)?;` records an event, and `upload.wait(&done)?` makes a stream wait for it.
//!
//! Edit between the `region` marks only. Lines are added, moved, or taken out.

use lab::Result;
use lab::buffer_lifetime::Work;

/// Maps all batches.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let (upload, compute, download) =
        (context.new_stream()?, context.new_stream()?, context.new_stream()?);
    let memory = work.allocator();
    let mut batches = work.allocate()?;
    let words = batches.words();
    // region: before the loop
    // endregion

    // The clock runs from here to the end of the closure.
    batches.region(|batches| {
        for batch in batches.iter_mut() {
            let mut input = memory.allocate(&upload, words)?;
            upload.memcpy_htod(&batch.input, &mut input)?;
            compute.wait(&upload.record_event(None)?)?;

            let mut result = memory.allocate(&compute, words)?;
            work.map(&compute, &input, &mut result)?;
            let mapped = compute.record_event(None)?;
            download.wait(&mapped)?;

            download.memcpy_dtoh(&result, &mut batch.output)?;
            // region: before the tensors are dropped
            download.synchronize()?;
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
