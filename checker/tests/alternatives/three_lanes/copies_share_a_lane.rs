//! Kernels have a stream, and all copies another: two lanes of three.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let (compute, copies) = (context.new_stream()?, context.new_stream()?);

    let mut pool = lanes.plan().pin_upload().pin_download().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        for block in &mut blocks.resident {
            block.map(&compute)?;
        }
        for (up, down) in blocks.upload.iter_mut().zip(&mut blocks.download) {
            copies.memcpy_htod(&up.host, &mut up.device)?;
            copies.memcpy_dtoh(&down.device, &mut down.host)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
