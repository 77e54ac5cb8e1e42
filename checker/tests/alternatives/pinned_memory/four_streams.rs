//! Four streams by turns.

use lab::Result;
use lab::pinned_memory::Batch;

/// Evaluates the batch.
pub fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let streams =
        (0..4).map(|_| context.new_stream()).collect::<std::result::Result<Vec<_>, _>>()?;

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels();
        let images = batch.images().pin(context)?;
        let losses = batch.losses().pin(context)?;
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        for (part, stream) in parts.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            stream.memcpy_htod(&part.images, &mut part.device.images())?;
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
        }
        for stream in &streams {
            stream.synchronize()?;
        }
        Ok(())
    })
}
