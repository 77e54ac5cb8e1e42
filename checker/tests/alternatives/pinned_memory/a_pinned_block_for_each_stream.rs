//! A pinned block for each stream, into which the host copies the images of each part when it is free again.

use lab::Result;
use lab::pinned_memory::Batch;
use lab::{HostBlock, HostMemory};

/// Evaluates the batch.
pub fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let length = batch.images().len();
    let staging = || HostBlock::new(context, HostMemory::Pinned, length);
    let mut staging = [staging()?, staging()?];
    let sent = [context.new_event(None)?, context.new_event(None)?];

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels();
        let images = batch.images();
        let losses = batch.losses().pin(context)?;
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        for (index, part) in parts.iter_mut().enumerate() {
            let (stream, staged) = (&streams[index % 2], &mut staging[index % 2]);
            sent[index % 2].synchronize()?;
            staged.words_mut()?.copy_from_slice(part.images.words()?);
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            stream.memcpy_htod(staged, &mut part.device.images())?;
            sent[index % 2].record(stream)?;
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
