//! All that goes up is asked for first, then the kernels, then what comes back.

use lab::Result;
use lab::pinned_memory::Batch;

/// Evaluates the batch.
pub fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels();
        let images = batch.images().pin(context)?;
        let losses = batch.losses().pin(context)?;
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        let of = |index: usize| &streams[index % streams.len()];
        for (index, part) in parts.iter_mut().enumerate() {
            of(index).memcpy_htod(&part.labels, &mut part.device.labels())?;
            of(index).memcpy_htod(&part.images, &mut part.device.images())?;
        }
        for (index, part) in parts.iter_mut().enumerate() {
            part.evaluate(of(index))?;
        }
        for (index, part) in parts.iter_mut().enumerate() {
            of(index).memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
