//! Augments on the host, batches of {batch} images.

use lab::gpu_augmentation::Feed;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let batch = lab.number("batch", 32)?;
    let feed = Feed::of(lab, batch, 6)?;
    let context = feed.context();
    let stream = context.new_stream()?;
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    let mut on_host = feed.augmented_on_host()?;

    let mut epoch = feed.allocate()?;
    epoch.region(|batches, slots, _, network| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, on_host) = (&mut slots[index], &mut on_host[index]);
            uploaded[index].synchronize()?;
            on_host.load(batch)?;
            stream.memcpy_htod(&on_host.views, &mut slot.views)?;
            uploaded[index].record(&stream)?;
            network.train(&stream, batch, &slot.views)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
