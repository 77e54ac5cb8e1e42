//! An event for each batch and hand-over, made beforehand.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let (augmenting, training) = (context.new_stream()?, context.new_stream()?);
    let event = |_| context.new_event(None);
    let events = || (0..20).map(event).collect::<std::result::Result<Vec<_>, _>>();
    let (uploaded, augmented, trained) = (events()?, events()?, events()?);

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let n = batch.number;
            let slot = &mut slots[n % 2];
            if n >= 2 {
                uploaded[n - 2].synchronize()?;
            }
            slot.load(batch)?;
            augmenting.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[n].record(&augmenting)?;
            augmentation.augment(&augmenting, batch, &slot.images)?;
            if n >= 2 {
                augmenting.wait(&trained[n - 2])?;
            }
            augmentation.normalise(&augmenting, &mut slot.views)?;
            augmented[n].record(&augmenting)?;
            training.wait(&augmented[n])?;
            network.train(&training, batch, &slot.views)?;
            trained[n].record(&training)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
