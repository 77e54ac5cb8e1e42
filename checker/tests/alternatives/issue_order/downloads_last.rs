//! Chunk by chunk up and through the map; what comes down is asked for at the end.

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
    for index in 0..CHUNKS {
        order.extend([(Step::Up, index), (Step::Map, index)]);
    }
    order.extend((0..CHUNKS).map(|index| (Step::Down, index)));

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
