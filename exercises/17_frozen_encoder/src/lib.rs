//! # Pipelining a frozen encoder: one batch ahead
//!
//! A network in two parts. The encoder makes features of images, and its weights are frozen: nothing here changes them.
//! The decoder is trained on the features. For each batch the images and their labels are uploaded, the encoder's seven
//! kernels run, and then the decoder's eight: forward, loss, backward, and a step of gradient descent. All of it is in
//! one stream, and most of these kernels are too small to fill the device.
//!
//! **Your task:** encode the next batch while the decoder is trained on this one. Nothing in the encoder needs the
//! decoder's new weights. The two `slots` are used in turn, so the encoder can write the features of one batch while the
//! decoder reads those of the other. Run `cargo run -- run frozen_encoder` and look at what runs side by side.
//!
//! `context.new_event(None)?` makes an event, `event.record(stream)?` records it after what is in a stream, and
//! `stream.wait(&event)?` makes a stream wait for it. Edit between the `region` marks only. A line that is added may
//! define `streams` again: what is below then uses that.

use lab::Result;
use lab::frozen_encoder::Training;

/// Trains the decoder on all batches.
pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let stream = context.new_stream()?;
    let streams = [&stream, &stream];
    // region: streams
    // endregion
    let [encoding, decoding] = streams;

    let mut epoch = training.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            // region: before the encoder
            // endregion
            encoding.memcpy_htod(&batch.images, &mut slot.images)?;
            encoding.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(encoding, &slot.images, &mut slot.features)?;
            // region: between encoder and decoder
            // endregion
            decoder.train(decoding, &slot.features, &slot.labels)?;
            // region: after the decoder
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
