//! # Prefetching: feed the swimmer
//!
//! The host loads batches and the device trains on them: a batch is loaded into pinned memory and uploaded, a
//! kernel trains on it, its losses are downloaded, and the host keeps them. There are two buffers, `slots`, so one
//! batch can be loaded while the other is trained on. And yet they take turns: each iteration waits for its losses.
//!
//! **Your task:** keep host and device busy. Keep the losses of a batch later, when its buffer is needed again, and
//! wait there for no more than is needed: what still reads `images`, and what still writes `losses`? Run
//! `cargo run -- run prefetch` and look at what the device does while the host loads, and at what the host does
//! while the device trains.
//!
//! `context.new_event(None)?` makes an event, `event.record(stream)?` records it after what is in a stream, and
//! `event.synchronize()?` blocks the host until that is done. `losses.keep(slot)?` keeps the losses of the batch
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
            // region: after the copy up
            // endregion
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            // region: after the copy down
            stream.synchronize()?;
            losses.keep(slot)?;
            // endregion
        }
        // region: after the last batch
        // endregion
        Ok(())
    })
}
