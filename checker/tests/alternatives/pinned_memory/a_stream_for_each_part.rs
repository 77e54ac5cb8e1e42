//! Each part has a stream of its own; memory is allocated pinned, not moved there.

use lab::Result;
use lab::pinned_memory::Batch;
use lab::{HostBlock, HostMemory};

/// Evaluates the batch.
pub fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let streams = (0..batch.parts()).map(|_| context.new_stream());
    let streams = streams.collect::<std::result::Result<Vec<_>, _>>()?;
    let pinned = |like: HostBlock| HostBlock::new(context, HostMemory::Pinned, like.len());

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels();
        let images = pinned(batch.images())?;
        let losses = pinned(batch.losses())?;
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        for (part, stream) in parts.iter_mut().zip(&streams) {
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            stream.memcpy_htod(&part.images, &mut part.device.images())?;
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
