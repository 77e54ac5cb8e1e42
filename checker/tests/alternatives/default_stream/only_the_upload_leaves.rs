//! The upload has a non-blocking stream. The library still waits for the download of the block before.

use lab::Result;
use lab::default_stream::Work;
use lab::streams::blocking_stream;

/// Sends all blocks through the library.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let (upload, download) = (context.new_stream()?, blocking_stream(context)?);
    let default = context.default_stream();

    let mut array = work.allocate()?;

    // The clock runs from here to the end of the closure.
    array.region(|blocks| {
        for block in blocks {
            upload.memcpy_htod(&block.input, &mut block.device)?;
            let uploaded = upload.record_event(None)?;
            default.wait(&uploaded)?;
            library.transform(&mut block.device)?;
            download.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
