//! `join` in both directions: the augmentation waits for the newest step of training, not for the one that had its slot.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let (augmenting, training) = (context.new_stream()?, context.new_stream()?);
    let uploaded = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            uploaded[index].synchronize()?;
            slot.load(batch)?;
            augmenting.join(&training)?;
            augmenting.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[index].record(&augmenting)?;
            augmentation.augment(&augmenting, batch, &slot.images)?;
            augmentation.normalise(&augmenting, &mut slot.views)?;
            training.join(&augmenting)?;
            network.train(&training, batch, &slot.views)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
