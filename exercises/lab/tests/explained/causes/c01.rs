//! `SWIM-C01`, pageable-copy.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (upload, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, mut own) = (each(8, || device(lab))?, device(lab)?);
    let n = words(lab, MIB);
    lab.region(|| {
        // listing: SWIM-C01
        let host = vec![0u32; n]; // ordinary memory
        for block in &mut blocks {
            kernel.launch(&compute, &mut own)?;
            upload.memcpy_htod(&host, block)?; // blocks the host
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (upload, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, mut own) = (each(8, || device(lab))?, device(lab)?);
    let host = pinned(lab)?;
    lab.region(|| {
        // listing: SWIM-C01
        for block in &mut blocks {
            kernel.launch(&compute, &mut own)?;
            upload.memcpy_htod(&host, block)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
