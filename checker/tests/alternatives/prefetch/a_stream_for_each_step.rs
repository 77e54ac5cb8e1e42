//! Three streams, one for each step, with events between them.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let sent = [context.new_event(None)?, context.new_event(None)?];
    let returned = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            sent[index].synchronize()?;
            slot.load(batch)?;
            returned[index].synchronize()?;
            losses.keep(slot)?;
            upload.memcpy_htod(&slot.images, &mut slot.device.images())?;
            sent[index].record(&upload)?;
            compute.wait(&sent[index])?;
            slot.train(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            returned[index].record(&download)?;
        }
        context.synchronize()?;
        for slot in slots {
            losses.keep(slot)?;
        }
        Ok(())
    })
}
