//! The solution of `gpu_augmentation`: augmentation has a stream of its own, and whoever uses memory again waits for the last
//! one that reads it.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let stream = context.new_stream()?;
    let streams = [&stream, &stream];
    // region: streams
    let ahead = context.new_stream()?;
    let streams = [&ahead, streams[1]];
    // For each slot: after its upload, after its views are made, and after the last kernel that reads them.
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    let augmented = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];
    // endregion
    let [augmenting, training] = streams;

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            // region: before the load
            // An event that has not been recorded yet counts as complete: the first batch of each slot waits for nothing.
            uploaded[index].synchronize()?;
            // endregion
            slot.load(batch)?;
            augmenting.memcpy_htod(&slot.loaded, &mut slot.images)?;
            // region: after the upload
            uploaded[index].record(augmenting)?;
            // endregion
            augmentation.augment(augmenting, batch, &slot.images)?;
            // region: before the views
            augmenting.wait(&trained[index])?;
            // endregion
            augmentation.normalise(augmenting, &mut slot.views)?;
            // region: between augmentation and training
            augmented[index].record(augmenting)?;
            training.wait(&augmented[index])?;
            // endregion
            network.train(training, batch, &slot.views)?;
            // region: after the training
            trained[index].record(training)?;
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
