//! `SWIM-C13`, synchronous-call.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (compute, kernel) = (stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C13
        for block in &mut blocks {
            copy_at_once(&host, block)?; // `cuMemcpyHtoD`: blocks the host
        }
        for _ in 0..8 {
            kernel.launch(&compute, &mut own)?; // could have run beside it
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (upload, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C13
        for block in &mut blocks {
            upload.memcpy_htod(&host, block)?;
        }
        for _ in 0..8 {
            kernel.launch(&compute, &mut own)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
