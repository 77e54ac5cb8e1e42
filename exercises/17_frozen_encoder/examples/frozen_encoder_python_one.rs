//! Encodes and trains, as a Python program would, in one stream, on batches of {batch} images.

use lab::frozen_encoder::Training;
use lab::{Lab, Result, torch};

fn program(lab: &Lab) -> Result<()> {
    let batch = lab.number("batch", 8)?;
    let training = Training::of(lab, batch, 12)?.issued_by_python();
    let context = training.context();
    let stream = context.new_stream()?;

    let mut epoch = training.allocate()?;
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let slot = &mut slots[batch.number % 2];
            torch::to_cuda()?;
            stream.memcpy_htod(&batch.images, &mut slot.images)?;
            torch::to_cuda()?;
            stream.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&stream, &slot.images, &mut slot.features)?;
            decoder.train(&stream, &slot.features, &slot.labels)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
