//! `SWIM-C04`, host-synchronisation.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (compute, upload, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
    lab.region(|| {
        // listing: SWIM-C04
        for block in &mut blocks {
            kernel.launch(&compute, &mut x)?;
            compute.synchronize()?; // the next copy is asked for too late
            upload.memcpy_htod(&host, block)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (compute, upload, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
    let context = lab.context();
    lab.region(|| {
        // listing: SWIM-C04
        for block in &mut blocks {
            kernel.launch(&compute, &mut x)?;
            upload.memcpy_htod(&host, block)?;
        }
        context.synchronize()?;
        // end
        finish(lab)
    })?;
    Ok(())
}
