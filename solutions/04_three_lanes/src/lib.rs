//! The solution of `three_lanes`: pinned memory on both sides, and no synchronisation on the way.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;

    // region: memory
    let plan = lanes.plan();
    // From pageable memory the driver stages the bytes itself, and holds the host until it is done.
    let plan = plan.pin_upload().pin_download();
    // endregion
    let mut pool = plan.allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        // region: lanes
        for block in &mut blocks.resident {
            block.map(&compute)?;
        }
        for block in &mut blocks.download {
            download.memcpy_dtoh(&block.device, &mut block.host)?;
        }
        for block in &mut blocks.upload {
            upload.memcpy_htod(&block.host, &mut block.device)?;
        }
        // Nobody needs a copy before the end: waiting once, below, is enough.
        // endregion
        context.synchronize()?;
        Ok(())
    })
}
