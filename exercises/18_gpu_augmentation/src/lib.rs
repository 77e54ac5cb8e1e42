//! # Augmentation on its own stream
//!
//! A small network is trained on images, and no batch is seen twice in the same way: windows are cut out of the images,
//! resized, flipped, blurred and normalised. For each batch the host loads the images into pinned memory. They are
//! uploaded, five kernels make the views that the network is trained on, and eight kernels train it. All of it is in one stream,
//! and the host waits for the whole batch before it loads the next.
//!
//! **Your task:** keep all three busy: the host that loads, the augmentation, and the training. Each of the two `slots`
//! has a pinned block, `loaded`, and device memory for its `images` and its `views`. So one batch can be trained on while
//! the next is on its way. Give the augmentation a stream of its own, and wait only for what is needed: what still reads
//! `loaded`, and what still reads `views`? Run `cargo run -- run gpu_augmentation` and look at who waits for whom.
//!
//! `context.new_event(None)?` makes an event, and `event.record(stream)?` records it after what is in a stream.
//! `stream.wait(&event)?` makes a stream wait for it, `event.synchronize()?` the host. Edit between the `region` marks
//! only. A line that is added may define `streams` again: what is below then uses that.

use lab::Result;
use lab::gpu_augmentation::Feed;

/// Trains the network on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let stream = context.new_stream()?;
    let streams = [&stream, &stream];
    // region: streams
    // endregion
    let [augmenting, training] = streams;

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            // region: before the load
            context.synchronize()?;
            // endregion
            slot.load(batch)?;
            augmenting.memcpy_htod(&slot.loaded, &mut slot.images)?;
            // region: after the upload
            // endregion
            augmentation.augment(augmenting, batch, &slot.images)?;
            // region: before the views
            // endregion
            augmentation.normalise(augmenting, &mut slot.views)?;
            // region: between augmentation and training
            // endregion
            network.train(training, batch, &slot.views)?;
            // region: after the training
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
