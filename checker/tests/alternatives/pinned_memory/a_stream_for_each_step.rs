//! A stream for each step, and events that hand a part on.

use lab::Result;
use lab::pinned_memory::Batch;

/// Evaluates the batch.
pub fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels();
        let images = batch.images().pin(context)?;
        let losses = batch.losses().pin(context)?;
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        for part in parts {
            upload.memcpy_htod(&part.labels, &mut part.device.labels())?;
            upload.memcpy_htod(&part.images, &mut part.device.images())?;
            compute.wait(&upload.record_event(None)?)?;
            part.evaluate(&compute)?;
            download.wait(&compute.record_event(None)?)?;
            download.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
        }
        download.synchronize()?;
        Ok(())
    })
}
