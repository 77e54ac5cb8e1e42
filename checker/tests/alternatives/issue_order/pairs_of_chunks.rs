//! Two chunks at a time, step by step.

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

    // What the host asks for, in this order: steps, and the chunks that they are for.
    let mut order = Vec::new();
    for pair in 0..CHUNKS / 2 {
        for step in Step::ALL {
            order.extend([(step, 2 * pair), (step, 2 * pair + 1)]);
        }
    }

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
