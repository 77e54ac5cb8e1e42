//! No list: one loop over the chunks.

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
    let mut turns = streams.iter().cycle();

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for chunk in chunks.iter_mut().take(CHUNKS) {
            let Some(stream) = turns.next() else { break };
            for step in Step::ALL {
                match step {
                    Step::Up => stream.memcpy_htod(&chunk.input, &mut chunk.device)?,
                    Step::Map => chunk.map(stream)?,
                    Step::Down => stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?,
                }
            }
        }
        for stream in &streams {
            stream.synchronize()?;
        }
        Ok(())
    })
}
