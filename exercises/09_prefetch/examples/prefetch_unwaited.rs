//! Two buffers in turn, each with a stream of its own, and no wait in the loop.

use lab::exercise::Exercise;
use lab::prefetch::Feed;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let feed = Feed::open(lab)?;
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let mut epoch = feed.short()?;
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            slot.load(batch)?;
            losses.keep(slot)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            slot.train(stream)?;
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
        }
        context.synchronize()?;
        losses.keep(&slots[0])?;
        losses.keep(&slots[1])?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
