//! All copies up, all maps, all copies down: asked for in this order, and handed on by events.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut chunks = job.whole().cut(32).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        let mut uploaded = Vec::new();
        for chunk in chunks.iter_mut() {
            upload.memcpy_htod(&chunk.input, &mut chunk.device)?;
            uploaded.push(upload.record_event(None)?);
        }
        let mut mapped = Vec::new();
        for (chunk, uploaded) in chunks.iter_mut().zip(&uploaded) {
            compute.wait(uploaded)?;
            chunk.map(&compute)?;
            mapped.push(compute.record_event(None)?);
        }
        for (chunk, mapped) in chunks.iter_mut().zip(&mapped) {
            download.wait(mapped)?;
            download.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        download.synchronize()?;
        Ok(())
    })
}
