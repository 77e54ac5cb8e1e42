//! Everything is pinned, and each lane is waited for before the next one starts.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;

    let mut pool = lanes.plan().pin_upload().pin_download().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        for block in &mut blocks.resident {
            block.map(&compute)?;
        }
        compute.synchronize()?;
        for block in &mut blocks.download {
            download.memcpy_dtoh(&block.device, &mut block.host)?;
        }
        download.synchronize()?;
        for block in &mut blocks.upload {
            upload.memcpy_htod(&block.host, &mut block.device)?;
        }
        upload.synchronize()?;
        Ok(())
    })
}
