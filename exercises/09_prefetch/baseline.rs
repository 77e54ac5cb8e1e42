//! The baseline of `prefetch`: two slots, and each lap waits for its own losses. Correct, and nothing overlaps.

use lab::Result;
use lab::prefetch::Feed;

fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut epoch = feed.allocate()?;

    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            slot.load(batch)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
            stream.synchronize()?;
            losses.keep(slot)?;
        }
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(train)
}
