//! Encodes ahead in a stream of its own, without a wait for a free buffer: a race.

use lab::exercise::Exercise;
use lab::frozen_encoder::Training;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let training = Training::open(lab)?;
    let context = training.context();
    let [encoding, decoding] = [context.new_stream()?, context.new_stream()?];
    let encoded = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = training.allocate()?;
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            encoding.memcpy_htod(&batch.images, &mut slot.images)?;
            encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&encoding, &slot.images, &mut slot.features)?;
            encoded[index].record(&encoding)?;

            decoding.wait(&encoded[index])?;
            decoder.train(&decoding, &slot.features, &slot.labels)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
