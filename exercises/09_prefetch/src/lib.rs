//! # Prefetching: feed the swimmer
//!
//! The host loads batches and the device trains on them: a batch is loaded into pinned memory, goes up, a
//! kernel trains on it, its losses come back, and the host keeps them. There are two slots, so that one batch
//! can be loaded while another is trained on. And yet they take turns: each lap waits for its own losses.
//!
//! **Your task:** keep both at work. Keep the losses of a batch later, when its slot is needed again, and wait
//! there for no more than has to be over: who still reads `images`, who still writes `losses`? Run
//! `cargo run -- run prefetch` and look at what the device does while the host loads, and the host while the
//! device trains.
//!
//! `context.new_event(None)?` makes an event, `event.record(stream)?` puts it behind what is in a stream, and
//! `event.synchronize()?` holds the host until that is done. `losses.keep(slot)?` keeps the losses of the batch
//! that the slot was last used to train on, and does nothing if there was none. Edit between the `region` marks
//! only; lines are added and moved, none is changed.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut epoch = feed.allocate()?;
    // region: events
    // endregion

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            // region: before the load
            // endregion
            slot.load(batch)?;
            // region: before the copies
            // endregion
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            // region: behind the copy up
            // endregion
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            // region: behind the copy down
            stream.synchronize()?;
            losses.keep(slot)?;
            // endregion
        }
        // region: behind the last batch
        // endregion
        Ok(())
    })
}
