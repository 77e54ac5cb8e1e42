//! Encodes a batch ahead in a stream of its own, on batches of {batch} images.

use lab::frozen_encoder::Training;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let batch = lab.number("batch", 8)?;
    let training = Training::of(lab, batch, 12)?;
    let context = training.context();
    let [encoding, decoding] = [context.new_stream()?, context.new_stream()?];
    let encoded = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = training.allocate()?;
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            encoding.wait(&trained[index])?;
            encoding.memcpy_htod(&batch.images, &mut slot.images)?;
            encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&encoding, &slot.images, &mut slot.features)?;
            encoded[index].record(&encoding)?;

            decoding.wait(&encoded[index])?;
            decoder.train(&decoding, &slot.features, &slot.labels)?;
            trained[index].record(&decoding)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
