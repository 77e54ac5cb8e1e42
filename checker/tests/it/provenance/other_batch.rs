//! exercise: frozen_encoder
//! gate: output
//! says: reads labels of batch 0 with logits of batch 1
//! cases: (1,0) (1,2)
//!
//! Everything in one stream and in order, but from a batch on the decoder gets the labels of the batch before. The second
//! case does it in one batch alone.

use lab::Result;
use lab::frozen_encoder::Training;

/// The first batch with other labels, and the first with its own again; 0 for none.
const CASE: (usize, usize) = __CASE__;

pub fn train(training: &Training) -> Result<()> {
    let context = training.context();
    let stream = context.new_stream()?;
    let (from, to) = CASE;
    let mut epoch = training.allocate()?;
    epoch.region(|batches, slots, encoder, decoder| {
        for batch in batches {
            let n = batch.number;
            let slot = &mut slots[n % 2];
            stream.memcpy_htod(&batch.images, &mut slot.images)?;
            stream.memcpy_htod(&batch.labels, &mut slot.labels)?;
            encoder.encode(&stream, &slot.images, &mut slot.features)?;
            let is_other = n >= from && (to == 0 || n < to);
            let labels = if is_other { (n + 1) % 2 } else { n % 2 };
            let (features, labels) = (&slots[n % 2].features, &slots[labels].labels);
            // The report names this line.
            decoder.train(&stream, features, labels)?;
        }
        stream.synchronize()?;
        Ok(())
    })
}
