//! The solution of `pinned_memory`: images and losses in pinned memory, allocated before the clock runs.

use lab::Result;
use lab::pinned_memory::Batch;

/// Evaluates the batch.
pub fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels(); // 64 KiB
        let images = batch.images(); // about 16 MB
        let losses = batch.losses(); // 4 KiB
        // region: memory
        // The images because of their size, the losses because they come back: whoever copies into ordinary
        // memory has to be there when the bytes arrive. The driver takes the labels over at once.
        let images = images.pin(context)?;
        let losses = losses.pin(context)?;
        // endregion
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        for (index, part) in parts.iter_mut().enumerate() {
            let stream = &streams[index % 2];
            // region: part
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            stream.memcpy_htod(&part.images, &mut part.device.images())?;
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
