//! exercise: gpu_augmentation
//! gate: output
//! says:  of batch 6 with 
//! cases: 0 1
//!
//! Everything in one stream and in order, but one batch is augmented, or trained on, as if it were the next.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Which of the two.
const CASE: usize = __CASE__;

pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let stream = context.new_stream()?;
    let mut epoch = feed.allocate()?;
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let slot = &mut slots[batch.number % 2];
            let other = &batches[if batch.number == 5 { 6 } else { batch.number }];
            let (augmented_as, trained_as) = if CASE == 0 { (other, batch) } else { (batch, other) };
            stream.synchronize()?;
            slot.load(batch)?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            augmentation.augment(&stream, augmented_as, &slot.images)?;
            augmentation.normalise(&stream, &mut slot.views)?;
            network.train(&stream, trained_as, &slot.views)?;
        }
        stream.synchronize()?;
        Ok(())
    })
}
