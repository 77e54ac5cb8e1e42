//! Two events, recorded again for each block.

use lab::Result;
use lab::default_stream::Work;

/// Sends all blocks through the library.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let (upload, download) = (context.new_stream()?, context.new_stream()?);
    let default = context.default_stream();
    let (uploaded, transformed) = (context.new_event(None)?, context.new_event(None)?);

    let mut array = work.allocate()?;

    // The clock runs from here to the end of the closure.
    array.region(|blocks| {
        for block in blocks {
            upload.memcpy_htod(&block.input, &mut block.device)?;
            uploaded.record(&upload)?;
            default.wait(&uploaded)?;
            library.transform(&mut block.device)?;
            transformed.record(&default)?;
            download.wait(&transformed)?;
            download.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
