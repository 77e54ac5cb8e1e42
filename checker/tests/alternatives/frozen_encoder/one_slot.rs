//! Two streams and one slot: the encoder can be ahead by the time that nobody reads it.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let (encoding, decoding) = (context.new_stream()?, context.new_stream()?);
    let (encoded, trained) = (context.new_event(None)?, context.new_event(None)?);

    let mut epoch = training.allocate()?;
    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        let slot = &mut slots[0];
        for batch in batches {
            encoding.wait(&trained)?;
            encoding.memcpy_htod(&batch.images, &mut slot.images)?;
            encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&encoding, &slot.images, &mut slot.features)?;
            encoded.record(&encoding)?;
            decoding.wait(&encoded)?;
            decoder.train(&decoding, &slot.features, &slot.labels)?;
            trained.record(&decoding)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
