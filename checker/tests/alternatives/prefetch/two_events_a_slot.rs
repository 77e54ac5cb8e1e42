//! Two events for each slot: one for its images, one for its losses.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let sent = [context.new_event(None)?, context.new_event(None)?];
    let returned = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            sent[index].synchronize()?;
            slot.load(batch)?;
            returned[index].synchronize()?;
            losses.keep(slot)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            sent[index].record(stream)?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            returned[index].record(stream)?;
        }
        for (slot, returned) in slots.iter().zip(&returned) {
            returned.synchronize()?;
            losses.keep(slot)?;
        }
        Ok(())
    })
}
