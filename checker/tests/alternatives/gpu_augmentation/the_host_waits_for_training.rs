//! The host waits for the training of the slot: then its block is free too, and no stream has to wait.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let (augmenting, training) = (context.new_stream()?, context.new_stream()?);
    let augmented = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            trained[index].synchronize()?;
            slot.load(batch)?;
            augmenting.memcpy_htod(&slot.loaded, &mut slot.images)?;
            augmentation.augment(&augmenting, batch, &slot.images)?;
            augmentation.normalise(&augmenting, &mut slot.views)?;
            augmented[index].record(&augmenting)?;
            training.wait(&augmented[index])?;
            network.train(&training, batch, &slot.views)?;
            trained[index].record(&training)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
