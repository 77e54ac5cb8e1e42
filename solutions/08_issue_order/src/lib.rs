//! The solution of `issue_order`: chunk by chunk.

use lab::Result;
use lab::issue_order::{CHUNKS, Step, Work};

/// Does the work.
pub fn pipeline(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = [
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
    ];
    let mut chunks = work.allocate()?;

    // What the host issues, in this order: steps, and the chunks that they are for.
    let mut order = Vec::new();
    for step in Step::ALL {
        for index in 0..CHUNKS {
            order.push((step, index));
        }
    }
    // region: order
    // All steps of the first chunk, then all of the second. The sort is stable: steps stay in order.
    order.sort_by_key(|&(_, index)| index);
    // endregion

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for (step, index) in order {
            let (chunk, stream) = (&mut chunks[index], &streams[index % streams.len()]);
            match step {
                Step::Up => stream.memcpy_htod(&chunk.input, &mut chunk.device)?,
                Step::Map => chunk.map(stream)?,
                Step::Down => stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?,
            }
        }
        context.synchronize()?;
        Ok(())
    })
}
