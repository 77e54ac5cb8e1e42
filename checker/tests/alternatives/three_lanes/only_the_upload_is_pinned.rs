//! Only the upload is pinned: it is asked for first, and then the host stays with the downloads.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;

    let mut pool = lanes.plan().pin_upload().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        for block in &mut blocks.resident {
            block.map(&compute)?;
        }
        for block in &mut blocks.upload {
            upload.memcpy_htod(&block.host, &mut block.device)?;
        }
        for block in &mut blocks.download {
            download.memcpy_dtoh(&block.device, &mut block.host)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
