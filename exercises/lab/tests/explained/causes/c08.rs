//! `SWIM-C08`, too-many-chunks.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (copy_in, compute, copy_out) = (stream(lab)?, stream(lab)?, stream(lab)?);
    let kernel = Kernel::new(lab)?;
    let mut chunks = Chunk::cut(lab, 256, 64)?;
    lab.region(|| {
        // listing: SWIM-C08
        for chunk in &mut chunks {
            // 256 of 64 KiB each
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.wait(&copy_in.record_event(None)?)?;
            kernel.launch(&compute, &mut chunk.device)?;
            copy_out.wait(&compute.record_event(None)?)?;
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (copy_in, compute, copy_out) = (stream(lab)?, stream(lab)?, stream(lab)?);
    let kernel = Kernel::new(lab)?;
    let mut chunks = Chunk::cut(lab, 32, 8 << 10)?;
    lab.region(|| {
        // listing: SWIM-C08
        for chunk in &mut chunks {
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.wait(&copy_in.record_event(None)?)?;
            kernel.launch(&compute, &mut chunk.device)?;
            copy_out.wait(&compute.record_event(None)?)?;
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
