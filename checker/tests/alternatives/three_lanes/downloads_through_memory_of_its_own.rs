//! The plan stays as it is: what crosses over goes through pinned memory that the program allocates itself.

use lab::{HostBlock, HostMemory};
use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let upload = context.new_stream()?;
    let pinned = |like: &HostBlock| HostBlock::new(context, HostMemory::Pinned, like.len());

    let mut pool = lanes.plan().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        let mut up = Vec::new();
        for block in &mut blocks.upload {
            let mut staged = pinned(&block.host)?;
            staged.words_mut()?.copy_from_slice(block.host.words()?);
            upload.memcpy_htod(&staged, &mut block.device)?;
            up.push(staged);
        }
        let mut down = Vec::new();
        for block in &mut blocks.download {
            let mut staged = pinned(&block.host)?;
            download.memcpy_dtoh(&block.device, &mut staged)?;
            down.push(staged);
        }
        for block in &mut blocks.resident {
            block.map(&compute)?;
        }
        context.synchronize()?;
        for (block, staged) in blocks.download.iter_mut().zip(&down) {
            block.host.words_mut()?.copy_from_slice(staged.words()?);
        }
        Ok(())
    })
}
