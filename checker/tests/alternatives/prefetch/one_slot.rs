//! One slot: it can be loaded as soon as the copy up is over, and its losses are kept before the next.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let stream = context.new_stream()?;
    let sent = context.new_event(None)?;

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        let slot = &mut slots[0];
        for batch in batches {
            sent.synchronize()?;
            slot.load(batch)?;
            stream.synchronize()?;
            losses.keep(slot)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            sent.record(&stream)?;
            slot.train(&stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
        }
        stream.synchronize()?;
        losses.keep(slot)?;
        Ok(())
    })
}
