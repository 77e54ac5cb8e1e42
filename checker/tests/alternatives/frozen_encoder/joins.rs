//! `join` in both directions: the encoder waits for the newest step of training, not for the one that had its slot.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let (encoding, decoding) = (context.new_stream()?, context.new_stream()?);

    let mut epoch = training.allocate()?;
    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let slot = &mut slots[batch.number % 2];
            encoding.join(&decoding)?;
            encoding.memcpy_htod(&batch.images, &mut slot.images)?;
            encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&encoding, &slot.images, &mut slot.features)?;
            decoding.join(&encoding)?;
            decoder.train(&decoding, &slot.features, &slot.labels)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
