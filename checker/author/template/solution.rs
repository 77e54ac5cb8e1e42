//! The solution of `chapter_name`: WRITE: what makes the difference, in one line.

use lab::Result;
use lab::chapter_name::Work;

/// Does the work.
pub fn solve(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = [
        context.new_stream()?,
        // region: streams
        // WRITE: why these lines
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        // endregion
    ];
    let mut blocks = work.allocate()?;

    // The clock runs from here to the end of the closure.
    blocks.region(|blocks| {
        for (index, block) in blocks.iter_mut().enumerate() {
            let stream = &streams[index % streams.len()];
            stream.memcpy_htod(&block.input, &mut block.device)?;
            block.map(stream)?;
            stream.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
