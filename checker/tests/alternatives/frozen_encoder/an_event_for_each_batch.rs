//! An event for each batch and direction, made beforehand.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let (encoding, decoding) = (context.new_stream()?, context.new_stream()?);
    let event = |_| context.new_event(None);
    let encoded: Vec<_> = (0..12).map(event).collect::<std::result::Result<_, _>>()?;
    let trained: Vec<_> = (0..12).map(event).collect::<std::result::Result<_, _>>()?;

    let mut epoch = training.allocate()?;
    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let n = batch.number;
            let slot = &mut slots[n % 2];
            if n >= 2 {
                encoding.wait(&trained[n - 2])?;
            }
            encoding.memcpy_htod(&batch.images, &mut slot.images)?;
            encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&encoding, &slot.images, &mut slot.features)?;
            encoded[n].record(&encoding)?;
            decoding.wait(&encoded[n])?;
            decoder.train(&decoding, &slot.features, &slot.labels)?;
            trained[n].record(&decoding)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
