//! `SWIM-C03`, shared-stream.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (stream, kernel) = (stream(lab)?, Kernel::new(lab)?);
    let (mut x, y, mut host) = (device(lab)?, device(lab)?, pinned(lab)?);
    lab.region(|| {
        // listing: SWIM-C03
        for _ in 0..8 {
            kernel.launch(&stream, &mut x)?;
            stream.memcpy_dtoh(&y, &mut host)?; // needs nothing from the kernel, and waits for it
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (compute, copy_out, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut x, y, mut host) = (device(lab)?, device(lab)?, pinned(lab)?);
    lab.region(|| {
        // listing: SWIM-C03
        for _ in 0..8 {
            kernel.launch(&compute, &mut x)?;
            copy_out.memcpy_dtoh(&y, &mut host)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
