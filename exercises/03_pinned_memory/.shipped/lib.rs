//! # Pinned memory: the wall you cannot see
//!
//! A batch is evaluated on the device, in 16 parts. For each part, labels and images are uploaded, a kernel
//! computes the losses, and the losses are downloaded. The parts are independent and use two streams in turn:
//! while the kernel of one part runs, the next part can be uploaded.
//!
//! All copies are issued by asynchronous calls, nothing synchronises before the end, and yet no copy runs
//! beside a kernel.
//!
//! **Your task:** make the copies really asynchronous, and pin no more memory than that takes. Run
//! `cargo run -- run pinned_memory` and follow the host: which of the calls return late?
//!
//! `block.pin(context)?` gives you the same block in pinned memory, as `pin_memory()` does in PyTorch: it
//! allocates and copies. Edit between the `region` marks only; lines are added, none is changed.

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
