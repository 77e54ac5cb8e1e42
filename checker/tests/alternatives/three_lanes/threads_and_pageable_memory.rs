//! A host thread for each lane, in ordinary memory: each is held by its own copies only.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;

    let mut pool = lanes.plan().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        let lab::lanes::Blocks { resident, upload: up, download: down } = blocks;
        lab::thread::scope(|scope| {
            let uploads = scope.spawn(|| -> Result<()> {
                for block in up {
                    upload.memcpy_htod(&block.host, &mut block.device)?;
                }
                Ok(upload.synchronize()?)
            })?;
            let downloads = scope.spawn(|| -> Result<()> {
                for block in down {
                    download.memcpy_dtoh(&block.device, &mut block.host)?;
                }
                Ok(download.synchronize()?)
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
