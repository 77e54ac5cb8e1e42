//! The same lines in a different order: this batch is trained on, and then the next one is loaded and uploaded.

use lab::exercise::Exercise;
use lab::prefetch::Feed;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let feed = Feed::open(lab)?;
    let context = feed.context();
    let copies = context.new_stream()?;
    let compute = context.new_stream()?;
    let mut epoch = feed.short()?;
    epoch.region(|batches, slots, losses| {
        slots[0].load(&batches[0])?;
        copies.memcpy_htod(&slots[0].images, &mut slots[0].device.images())?;
        context.synchronize()?;
        for number in 0..batches.len() {
            let (this, next) = (number % 2, (number + 1) % 2);
            // Train on this one.
            slots[this].train(&compute)?;
            compute.memcpy_dtoh(&slots[this].device.losses(), &mut slots[this].losses)?;
            // Get the next batch.
            if let Some(batch) = batches.get(number + 1) {
                slots[next].load(batch)?;
                copies.memcpy_htod(&slots[next].images, &mut slots[next].device.images())?;
            }
            context.synchronize()?;
            losses.keep(&slots[this])?;
        }
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
