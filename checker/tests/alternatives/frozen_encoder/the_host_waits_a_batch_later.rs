//! The host waits for the step that had the slot, and for nothing else.

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
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            trained[index].synchronize()?;
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
