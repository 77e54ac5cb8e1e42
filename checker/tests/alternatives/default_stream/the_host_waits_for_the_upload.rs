//! Non-blocking streams, an event after the library, and the host waits for each upload.

use lab::Result;
use lab::default_stream::Work;

/// Sends all blocks through the library.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let (upload, download) = (context.new_stream()?, context.new_stream()?);
    let default = context.default_stream();

    let mut array = work.allocate()?;

    // The clock runs from here to the end of the closure.
    array.region(|blocks| {
        for block in blocks {
            upload.memcpy_htod(&block.input, &mut block.device)?;
            upload.synchronize()?;
            library.transform(&mut block.device)?;
            let transformed = default.record_event(None)?;
            download.wait(&transformed)?;
            download.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
