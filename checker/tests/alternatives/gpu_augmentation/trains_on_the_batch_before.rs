//! Each iteration trains on the batch before, after it has issued the augmentation of this one.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let (augmenting, training) = (context.new_stream()?, context.new_stream()?);
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    let augmented = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for number in 0..=batches.len() {
            if let Some(batch) = batches.get(number) {
                let index = number % 2;
                let slot = &mut slots[index];
                uploaded[index].synchronize()?;
                slot.load(batch)?;
                augmenting.memcpy_htod(&slot.loaded, &mut slot.images)?;
                uploaded[index].record(&augmenting)?;
                augmentation.augment(&augmenting, batch, &slot.images)?;
                augmenting.wait(&trained[index])?;
                augmentation.normalise(&augmenting, &mut slot.views)?;
                augmented[index].record(&augmenting)?;
            }
            if number > 0 {
                let (batch, index) = (&batches[number - 1], (number - 1) % 2);
                training.wait(&augmented[index])?;
                network.train(&training, batch, &slots[index].views)?;
                trained[index].record(&training)?;
            }
        }
        context.synchronize()?;
        Ok(())
    })
}
