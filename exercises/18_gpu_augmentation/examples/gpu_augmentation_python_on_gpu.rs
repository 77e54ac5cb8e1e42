//! Augments on the GPU in the stream of the training, as a Python program would, batches of {batch} images.

use lab::gpu_augmentation::Feed;
use lab::{Lab, Result, torch};

fn program(lab: &Lab) -> Result<()> {
    let batch = lab.number("batch", 32)?;
    let feed = Feed::of(lab, batch, 6)?.issued_by_python();
    let context = feed.context();
    let stream = context.new_stream()?;
    let uploaded = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            uploaded[index].synchronize()?;
            slot.load(batch)?;
            torch::to_cuda()?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            torch::event()?;
            uploaded[index].record(&stream)?;
            augmentation.augment(&stream, batch, &slot.images)?;
            augmentation.normalise(&stream, &mut slot.views)?;
            network.train(&stream, batch, &slot.views)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
