//! Images go up in three pieces of different lengths.

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
        for (index, part) in parts.iter_mut().enumerate() {
            let stream = &streams[index % 2];
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            let images = part.images.words()?;
            let ends = [images.len() / 5, images.len() / 2, images.len()];
            let mut start = 0;
            for end in ends {
                let mut place = part.device.images();
                stream.memcpy_htod(&images[start..end], &mut place.slice_mut(start..end))?;
                start = end;
            }
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
