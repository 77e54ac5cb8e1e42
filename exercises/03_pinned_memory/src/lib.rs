//! # Pinned memory: the wall you cannot see
//!
//! A batch is evaluated on the device, in 16 parts. Of each part the labels and the images go up, a kernel
//! makes losses of them, and the losses come back. The parts need nothing of one another, so they take two
//! streams by turns: while one part is in its kernel, the next one can be on its way.
//!
//! All copies are asked for by calls that are asynchronous, nobody synchronises before the end, and still
//! no copy has a kernel for company.
//!
//! **Your task:** make the copies really asynchronous, with as little pinned memory as will do. Run
//! `cargo run -- run pinned_memory` and follow the host: from which of the calls does it come back late?
//!
//! `block.pin(context)?` is the same block in pinned memory, as `pin_memory()` is in PyTorch: it allocates
//! and copies. Edit between the `region` marks only; lines are added, none is changed.

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
