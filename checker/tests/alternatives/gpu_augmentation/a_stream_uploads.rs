//! Three streams: one uploads, one augments, one trains.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let uploading = context.new_stream()?;
    let (augmenting, training) = (context.new_stream()?, context.new_stream()?);
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    let augmented = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            uploaded[index].synchronize()?;
            slot.load(batch)?;
            uploading.wait(&augmented[index])?;
            uploading.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[index].record(&uploading)?;
            augmenting.wait(&uploaded[index])?;
            augmentation.augment(&augmenting, batch, &slot.images)?;
            augmenting.wait(&trained[index])?;
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
