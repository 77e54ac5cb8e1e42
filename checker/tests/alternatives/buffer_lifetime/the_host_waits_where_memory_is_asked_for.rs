//! Both uses are recorded, and before each request the host waits for the use that its block had two batches ago.

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
    let mut mapped_before = std::collections::VecDeque::<cudarc::driver::CudaEvent>::new();
    let mut downloaded_before = std::collections::VecDeque::<cudarc::driver::CudaEvent>::new();

    // The clock runs from here to the end of the closure.
    batches.region(|batches| {
        for batch in batches.iter_mut() {
            if mapped_before.len() == 2
                && let Some(done) = mapped_before.pop_front()
            {
                done.synchronize()?;
            }
            let mut input = memory.allocate(&upload, words)?;
            upload.memcpy_htod(&batch.input, &mut input)?;
            compute.wait(&upload.record_event(None)?)?;

            if downloaded_before.len() == 2
                && let Some(done) = downloaded_before.pop_front()
            {
                done.synchronize()?;
            }
            let mut result = memory.allocate(&compute, words)?;
            work.map(&compute, &input, &mut result)?;
            let mapped = compute.record_event(None)?;
            download.wait(&mapped)?;

            download.memcpy_dtoh(&result, &mut batch.output)?;
            input.record_stream(&compute);
            result.record_stream(&download);
            mapped_before.push_back(mapped);
            downloaded_before.push_back(download.record_event(None)?);
        }
        context.synchronize()?;
        Ok(())
    })
}
