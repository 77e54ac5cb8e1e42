//! A batch is loaded while the one before it is trained on; then the host waits for that one.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let stream = context.new_stream()?;

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            slots[index].load(batch)?;
            stream.synchronize()?;
            losses.keep(&slots[1 - index])?;
            let slot = &mut slots[index];
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            slot.train(&stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
        }
        stream.synchronize()?;
        losses.keep(&slots[(batches.len() - 1) % 2])?;
        Ok(())
    })
}
