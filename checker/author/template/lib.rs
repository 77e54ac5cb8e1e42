//! # Chapter title
//!
//! WRITE: what there is to do, and that it is done one thing after the other.
//!
//! **Your task:** WRITE: what should run at the same time.
//! Run `cargo run -- run chapter_name` and look at the timeline.
//!
//! Edit between the `region` marks only. Lines may be added, and lines may be moved.

use lab::Result;
use lab::chapter_name::Work;

/// Does the work.
pub fn solve(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = [
        context.new_stream()?,
        // region: streams
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
