//! Each lane has a host thread, which may wait for each of its copies.

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
        let lab::lanes::Blocks { resident, upload: up, download: down } = blocks;
        lab::thread::scope(|scope| {
            let uploads = scope.spawn(|| -> Result<()> {
                for block in up {
                    upload.memcpy_htod(&block.host, &mut block.device)?;
                    upload.synchronize()?;
                }
                Ok(())
            })?;
            let downloads = scope.spawn(|| -> Result<()> {
                for block in down {
                    download.memcpy_dtoh(&block.device, &mut block.host)?;
                    download.synchronize()?;
                }
                Ok(())
            })?;
            for block in resident {
                block.map(&compute)?;
            }
            compute.synchronize()?;
            uploads.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            downloads.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
