//! The same two buffers, and the host waits for what it is about to use again.

use lab::exercise::Exercise;
use lab::prefetch::Feed;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let feed = Feed::open(lab)?;
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    let mut epoch = feed.short()?;
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            uploaded[index].synchronize()?;
            slot.load(batch)?;
            stream.synchronize()?;
            losses.keep(slot)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            uploaded[index].record(stream)?;
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
