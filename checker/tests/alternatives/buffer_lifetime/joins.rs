//! As the solution, with `join` in place of the events: the streams wait for more than they have to.

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
    let mut kept = None;

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
            let older = kept.replace((input, result));
            if older.is_some() {
                upload.join(&compute)?;
                compute.join(&download)?;
            }
        }
        context.synchronize()?;
        Ok(())
    })
}
