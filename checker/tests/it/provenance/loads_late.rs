//! exercise: prefetch
//! gate: output
//! says: was not loaded
//!
//! The host knows what it will load, and uploads it before it has; then it takes its time while the device
//! works.

use lab::prefetch::Feed;
use lab::{HostBlock, HostMemory, Result};

pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let elements = tools::ELEMENTS / 64;
    let mut own = Vec::new();
    for batch in 0..64 {
        let mut block = HostBlock::new(context, HostMemory::Pinned, elements)?;
        for (index, word) in ((batch * elements) as u64..).zip(block.words_mut()?) {
            *word = tools::input(0, index);
        }
        own.push(block);
    }
    let mut epoch = feed.allocate()?;
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            stream.memcpy_htod(&own[batch.number], &mut slot.device.images())?;
            slot.load(batch)?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            stream.synchronize()?;
            losses.keep(slot)?;
        }
        Ok(())
    })
}
