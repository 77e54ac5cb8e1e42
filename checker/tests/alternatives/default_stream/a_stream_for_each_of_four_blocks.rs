//! Four non-blocking streams in turn. Upload and download of a block are in the same one.

use lab::Result;
use lab::default_stream::Work;

/// Sends all blocks through the library.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let streams = [
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
    ];
    let default = context.default_stream();

    let mut array = work.allocate()?;

    // The clock runs from here to the end of the closure.
    array.region(|blocks| {
        for (index, block) in blocks.iter_mut().enumerate() {
            let stream = &streams[index % streams.len()];
            stream.memcpy_htod(&block.input, &mut block.device)?;
            default.join(stream)?;
            library.transform(&mut block.device)?;
            stream.join(&default)?;
            stream.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
