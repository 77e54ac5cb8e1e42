//! Before a slot is loaded its stream has to be done: one wait for images and losses.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            stream.synchronize()?;
            losses.keep(slot)?;
            slot.load(batch)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
        }
        for (slot, stream) in slots.iter().zip(&streams) {
            stream.synchronize()?;
            losses.keep(slot)?;
        }
        Ok(())
    })
}
