//! Two streams for each lane, and closures for what a lane does.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let pair = || -> Result<[_; 2]> { Ok([context.new_stream()?, context.new_stream()?]) };
    let (compute, download, upload) = (pair()?, pair()?, pair()?);

    let mut pool = lanes.plan().pin_upload().pin_download().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        for (index, block) in blocks.upload.iter_mut().enumerate() {
            upload[index % 2].memcpy_htod(&block.host, &mut block.device)?;
        }
        for (index, block) in blocks.download.iter_mut().enumerate() {
            download[index % 2].memcpy_dtoh(&block.device, &mut block.host)?;
        }
        for (index, block) in blocks.resident.iter_mut().enumerate() {
            block.map(&compute[index % 2])?;
        }
        let all = compute.iter().chain(&download).chain(&upload);
        all.clone().try_for_each(|stream| stream.synchronize())?;
        Ok(())
    })
}
