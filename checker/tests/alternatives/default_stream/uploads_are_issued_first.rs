//! All uploads are issued first, then all calls of the library, then all downloads.

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
        let mut uploaded = Vec::new();
        for block in blocks.iter_mut() {
            upload.memcpy_htod(&block.input, &mut block.device)?;
            uploaded.push(upload.record_event(None)?);
        }
        let mut transformed = Vec::new();
        for (block, uploaded) in blocks.iter_mut().zip(&uploaded) {
            default.wait(uploaded)?;
            library.transform(&mut block.device)?;
            transformed.push(default.record_event(None)?);
        }
        for (block, transformed) in blocks.iter_mut().zip(&transformed) {
            download.wait(transformed)?;
            download.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
