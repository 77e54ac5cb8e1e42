//! Only the images are pinned: the host still stays for the losses of each part.

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
        let losses = batch.losses();
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        for (index, part) in parts.iter_mut().enumerate() {
            let stream = &streams[index % 2];
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            stream.memcpy_htod(&part.images, &mut part.device.images())?;
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
