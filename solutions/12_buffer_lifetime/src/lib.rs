//! The solution of `buffer_lifetime`: the tensors of a batch are kept for one more iteration, and before they are dropped,
//! the streams that they belong to wait for the streams that read them.

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
    let mut kept = None;
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
            let downloaded = download.record_event(None)?;
            let older = kept.replace((input, result, mapped, downloaded));
            if let Some((_, _, mapped, downloaded)) = &older {
                upload.wait(mapped)?;
                compute.wait(downloaded)?;
            }
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
