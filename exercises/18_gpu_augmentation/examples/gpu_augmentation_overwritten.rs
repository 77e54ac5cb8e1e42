//! Augments in a stream of its own, and loads without waiting for the upload of what is overwritten: a race.

use lab::exercise::Exercise;
use lab::gpu_augmentation::Feed;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let feed = Feed::open(lab)?;
    let context = feed.context();
    let [ahead, training] = [context.new_stream()?, context.new_stream()?];
    let augmented = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = feed.allocate()?;
    epoch.region(|batches, slots, augmentation, network| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            slot.load(batch)?;
            ahead.memcpy_htod(&slot.loaded, &mut slot.images)?;
            augmentation.augment(&ahead, batch, &slot.images)?;
            ahead.wait(&trained[index])?;
            augmentation.normalise(&ahead, &mut slot.views)?;
            augmented[index].record(&ahead)?;

            training.wait(&augmented[index])?;
            network.train(&training, batch, &slot.views)?;
            trained[index].record(&training)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
