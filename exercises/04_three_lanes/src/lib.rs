//! # Three lanes: swimming in streams
//!
//! There are three jobs, and none of them needs another: blocks that are on the device are mapped
//! where they are, finished blocks are downloaded to the host, and new blocks are uploaded. The
//! device has an engine for each. You gave each its own stream, and yet they take turns.
//!
//! **Your task:** let all three swim at once. Run `cargo run -- run three_lanes` and look at the
//! timeline: when is a row empty, and what is the host doing at that moment?
//!
//! Edit between the `region` marks only; you may also remove lines. A plan has `pin_upload` and `pin_download`.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;

    // region: memory
    let plan = lanes.plan();
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
            download.synchronize()?;
        }
        for block in &mut blocks.upload {
            upload.memcpy_htod(&block.host, &mut block.device)?;
            upload.synchronize()?;
        }
        // endregion
        context.synchronize()?;
        Ok(())
    })
}
