//! A third block for images, swapped in: the host can load before either copy up is over.

use lab::Result;
use lab::prefetch::Feed;
use lab::{HostBlock, HostMemory};

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let returned = [context.new_event(None)?, context.new_event(None)?];
    let sent =
        (0..4).map(|_| context.new_event(None)).collect::<std::result::Result<Vec<_>, _>>()?;

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        let length = slots[0].images.len();
        let mut spare = Vec::new();
        for _ in 0..2 {
            spare.push(HostBlock::new(context, HostMemory::Pinned, length)?);
        }
        for batch in batches {
            let (index, block) = (batch.number % 2, batch.number % 4);
            let (slot, stream) = (&mut slots[index], &streams[index]);
            sent[block].synchronize()?;
            std::mem::swap(&mut slot.images, &mut spare[index]);
            slot.load(batch)?;
            returned[index].synchronize()?;
            losses.keep(slot)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            sent[block].record(stream)?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            returned[index].record(stream)?;
        }
        context.synchronize()?;
        for slot in slots {
            losses.keep(slot)?;
        }
        Ok(())
    })
}
