//! Four tensors that are allocated before the loop and used in turn: the allocator has nothing to do.

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
    let mut inputs = [memory.allocate(&upload, words)?, memory.allocate(&upload, words)?];
    let mut results = [memory.allocate(&compute, words)?, memory.allocate(&compute, words)?];
    let mapped = [context.new_event(None)?, context.new_event(None)?];
    let downloaded = [context.new_event(None)?, context.new_event(None)?];

    // The clock runs from here to the end of the closure.
    batches.region(|batches| {
        for (number, batch) in batches.iter_mut().enumerate() {
            let index = number % 2;
            let (input, result) = (&mut inputs[index], &mut results[index]);
            upload.wait(&mapped[index])?;
            upload.memcpy_htod(&batch.input, input)?;
            compute.wait(&upload.record_event(None)?)?;
            compute.wait(&downloaded[index])?;
            work.map(&compute, input, result)?;
            mapped[index].record(&compute)?;
            download.wait(&mapped[index])?;
            download.memcpy_dtoh(result, &mut batch.output)?;
            downloaded[index].record(&download)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
