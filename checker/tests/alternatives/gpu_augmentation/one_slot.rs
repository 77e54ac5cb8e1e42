//! One slot for all batches, with every wait that it needs.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let (augmenting, training) = (context.new_stream()?, context.new_stream()?);
    let (uploaded, augmented) = (context.new_event(None)?, context.new_event(None)?);
    let trained = context.new_event(None)?;

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        let slot = &mut slots[0];
        for batch in batches {
            uploaded.synchronize()?;
            slot.load(batch)?;
            augmenting.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded.record(&augmenting)?;
            augmentation.augment(&augmenting, batch, &slot.images)?;
            augmenting.wait(&trained)?;
            augmentation.normalise(&augmenting, &mut slot.views)?;
            augmented.record(&augmenting)?;
            training.wait(&augmented)?;
            network.train(&training, batch, &slot.views)?;
            trained.record(&training)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
