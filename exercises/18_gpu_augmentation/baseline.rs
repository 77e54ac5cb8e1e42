//! The baseline of `gpu_augmentation`: one stream, and the host waits for each batch. Correct, and nothing overlaps.

use lab::Result;
use lab::gpu_augmentation::Feed;

fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let stream = context.new_stream()?;

    let mut epoch = feed.allocate()?;

    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let slot = &mut slots[batch.number % 2];
            context.synchronize()?;
            slot.load(batch)?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            augmentation.augment(&stream, batch, &slot.images)?;
            augmentation.normalise(&stream, &mut slot.views)?;
            network.train(&stream, batch, &slot.views)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(train)
}
