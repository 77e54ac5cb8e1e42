//! The solution of `prefetch`: a batch is loaded while the one before it is trained on, and the host waits for
//! what it is about to use again.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut epoch = feed.allocate()?;
    // region: events
    // Behind the copy up of each slot: the host may load into it again when that is over, and the kernel is
    // nothing to wait for.
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    // endregion

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            // region: before the load
            // In a slot's first lap nothing has been recorded, and this waits for nothing.
            uploaded[index].synchronize()?;
            // endregion
            slot.load(batch)?;
            // region: before the copies
            // All that this slot had before is over here, two laps later. Mostly there is nothing left to wait for.
            stream.synchronize()?;
            losses.keep(slot)?;
            // endregion
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            // region: after the copy up
            uploaded[index].record(stream)?;
            // endregion
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            // region: after the copy down
            // endregion
        }
        // region: after the last batch
        // The last two are still on their way.
        context.synchronize()?;
        for slot in slots {
            losses.keep(slot)?;
        }
        // endregion
        Ok(())
    })
}
