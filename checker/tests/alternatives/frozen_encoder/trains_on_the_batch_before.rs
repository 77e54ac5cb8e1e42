//! Each iteration trains on the batch before, after it has issued the encoder of this one.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let (encoding, decoding) = (context.new_stream()?, context.new_stream()?);
    let encoded = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = training.allocate()?;
    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        for number in 0..=batches.len() {
            if let Some(batch) = batches.get(number) {
                let index = number % 2;
                let slot = &mut slots[index];
                encoding.wait(&trained[index])?;
                encoding.memcpy_htod(&batch.images, &mut slot.images)?;
                encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
                encoder.encode(&encoding, &slot.images, &mut slot.features)?;
                encoded[index].record(&encoding)?;
            }
            if number > 0 {
                let index = (number - 1) % 2;
                decoding.wait(&encoded[index])?;
                decoder.train(&decoding, &slots[index].features, &slots[index].labels)?;
                trained[index].record(&decoding)?;
            }
        }
        context.synchronize()?;
        Ok(())
    })
}
