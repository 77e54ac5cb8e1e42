//! The baseline of `frozen_encoder`: one stream. Correct, and no kernel runs beside another.

use lab::Result;
use lab::frozen_encoder::Training;

fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let stream = context.new_stream()?;

    let mut epoch = training.allocate()?;

    epoch.region(|batches, slots, encoder, decoder| {
        let slot = &mut slots[0];
        for batch in batches {
            stream.memcpy_htod(&batch.images, &mut slot.images)?;
            stream.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&stream, &slot.images, &mut slot.features)?;
            decoder.train(&stream, &slot.features, &slot.labels)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(train)
}
