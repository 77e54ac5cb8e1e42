//! Uploads have a stream of their own: three streams, and a third pair of events.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let [loading, encoding, decoding] =
        [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let loaded = [context.new_event(None)?, context.new_event(None)?];
    let encoded = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];

    let mut epoch = training.allocate()?;
    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            loading.wait(&trained[index])?;
            loading.memcpy_htod(&batch.images, &mut slot.images)?;
            loading.memcpy_htod(&batch.labels, &mut slot.labels)?;
            loaded[index].record(&loading)?;
            encoding.wait(&loaded[index])?;
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
