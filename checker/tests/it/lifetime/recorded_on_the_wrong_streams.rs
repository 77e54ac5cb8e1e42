//! Each record names the stream that made the tensor.

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
            input.record_stream(&upload);
            result.record_stream(&compute);
        }
        context.synchronize()?;
        Ok(())
    })
}
