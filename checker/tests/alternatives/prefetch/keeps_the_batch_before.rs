//! While a batch is trained on, the host loads the next; then it keeps the losses of the one before.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        let [first, second] = slots else { unreachable!("there are two slots") };
        let (mut now, mut before) = ((first, &streams[0]), (second, &streams[1]));
        for batch in batches {
            let (slot, stream) = &mut now;
            slot.load(batch)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            before.1.synchronize()?;
            losses.keep(before.0)?;
            std::mem::swap(&mut now, &mut before);
        }
        before.1.synchronize()?;
        losses.keep(before.0)?;
        Ok(())
    })
}
