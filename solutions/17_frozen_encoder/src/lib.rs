//! The solution of `frozen_encoder`: the encoder is a batch ahead in a stream of its own, and two buffers are used in turn.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let stream = context.new_stream()?;
    let streams = [&stream, &stream];
    // region: streams
    let ahead = context.new_stream()?;
    let streams = [&ahead, streams[1]];
    // For each buffer: after its features are made, and after the last kernel that reads them.
    let encoded = [context.new_event(None)?, context.new_event(None)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];
    // endregion
    let [encoding, decoding] = streams;

    let mut epoch = training.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            // region: before the encoder
            // What the buffer held two batches ago is no longer read. Before the first training nothing has been recorded,
            // and this waits for nothing.
            encoding.wait(&trained[index])?;
            // endregion
            encoding.memcpy_htod(&batch.images, &mut slot.images)?;
            encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(encoding, &slot.images, &mut slot.features)?;
            // region: between encoder and decoder
            encoded[index].record(encoding)?;
            decoding.wait(&encoded[index])?;
            // endregion
            decoder.train(decoding, &slot.features, &slot.labels)?;
            // region: after the decoder
            trained[index].record(decoding)?;
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
