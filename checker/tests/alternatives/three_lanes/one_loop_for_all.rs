//! One loop that gives each lane a block by turns, copies first.

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
        for index in 0..blocks.resident.len() {
            let (up, down) = (&mut blocks.upload[index], &mut blocks.download[index]);
            upload.memcpy_htod(&up.host, &mut up.device)?;
            download.memcpy_dtoh(&down.device, &mut down.host)?;
            blocks.resident[index].map(&compute)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
