//! `join` in both directions, and the training step of the batch before is issued between the two.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let (encoding, decoding) = (context.new_stream()?, context.new_stream()?);

    let mut epoch = training.allocate()?;
    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        for number in 0..=batches.len() {
            // What is in the decoder's stream now are steps of batches that had this slot, or the other one and were before.
            encoding.join(&decoding)?;
            if number > 0 {
                decoding.join(&encoding)?;
                let before = &slots[(number - 1) % 2];
                decoder.train(&decoding, &before.features, &before.labels)?;
            }
            if let Some(batch) = batches.get(number) {
                let slot = &mut slots[number % 2];
                encoding.memcpy_htod(&batch.images, &mut slot.images)?;
                encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
                encoder.encode(&encoding, &slot.images, &mut slot.features)?;
            }
        }
        context.synchronize()?;
        Ok(())
    })
}
