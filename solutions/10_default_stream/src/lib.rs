//! The solution of `default_stream`: non-blocking streams, an event before the library's kernel, and an event
//! after it.

use lab::Result;
use lab::default_stream::Work;
use lab::streams::blocking_stream;

/// Sends all blocks through the library.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let streams = [
        // region: streams
        context.new_stream()?,
        context.new_stream()?,
        // endregion
        blocking_stream(context)?,
        blocking_stream(context)?,
    ];
    // The first two of the list are used: a stream that you add comes before those that are there.
    let (upload, download) = (&streams[0], &streams[1]);

    let mut array = work.allocate()?;

    // The clock runs from here to the end of the closure.
    array.region(|blocks| {
        for block in blocks {
            upload.memcpy_htod(&block.input, &mut block.device)?;
            // region: before the library
            let uploaded = upload.record_event(None)?;
            context.default_stream().wait(&uploaded)?;
            // endregion
            library.transform(&mut block.device)?;
            // region: after the library
            let transformed = context.default_stream().record_event(None)?;
            download.wait(&transformed)?;
            // endregion
            download.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
