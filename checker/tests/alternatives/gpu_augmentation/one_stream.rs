//! One stream, and the host waits for nothing but the upload that reads the block.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let stream = context.new_stream()?;
    let uploaded = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            uploaded[index].synchronize()?;
            slot.load(batch)?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[index].record(&stream)?;
            augmentation.augment(&stream, batch, &slot.images)?;
            augmentation.normalise(&stream, &mut slot.views)?;
            network.train(&stream, batch, &slot.views)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
