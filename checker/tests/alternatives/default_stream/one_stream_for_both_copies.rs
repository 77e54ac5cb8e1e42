//! One non-blocking stream for both copies: the next upload comes after a download, which waits for the library.

use lab::Result;
use lab::default_stream::Work;

/// Sends all blocks through the library.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let copies = context.new_stream()?;
    let default = context.default_stream();

    let mut array = work.allocate()?;

    // The clock runs from here to the end of the closure.
    array.region(|blocks| {
        for block in blocks {
            copies.memcpy_htod(&block.input, &mut block.device)?;
            default.wait(&copies.record_event(None)?)?;
            library.transform(&mut block.device)?;
            copies.wait(&default.record_event(None)?)?;
            copies.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
