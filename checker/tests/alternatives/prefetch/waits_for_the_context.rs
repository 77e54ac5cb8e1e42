//! Two slots, and the host waits for everything before each load.

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
            context.synchronize()?;
            losses.keep(&slots[1 - index])?;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            slot.load(batch)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
        }
        context.synchronize()?;
        losses.keep(&slots[(batches.len() - 1) % 2])?;
        Ok(())
    })
}
