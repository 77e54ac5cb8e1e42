//! All losses come back into one pinned block, and the host deals them out at the end.

use lab::Result;
use lab::pinned_memory::Batch;
use lab::{HostBlock, HostMemory};

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
        let length = batch.losses().len();
        let mut all = HostBlock::new(context, HostMemory::Pinned, length * parts.len())?;
        let rooms = all.words_mut()?.chunks_exact_mut(length);
        for ((index, part), room) in parts.iter_mut().enumerate().zip(rooms) {
            let stream = &streams[index % 2];
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            stream.memcpy_htod(&part.images, &mut part.device.images())?;
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), room)?;
        }
        context.synchronize()?;
        for (part, losses) in parts.iter_mut().zip(all.words()?.chunks_exact(length)) {
            part.losses.words_mut()?.copy_from_slice(losses);
        }
        Ok(())
    })
}
