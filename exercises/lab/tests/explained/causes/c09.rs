//! `SWIM-C09`, full-device.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut x, mut y) = (device(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C09
        for _ in 0..8 {
            kernel.launch(&a, &mut x)?; // enough blocks for the whole device
            kernel.launch(&b, &mut y)?; // ready, and there is no room
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (a, b, small) = (stream(lab)?, stream(lab)?, Kernel::sized(lab, 16, 100)?);
    let (mut x, mut y) = (device(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C09
        for _ in 0..8 {
            small.launch(&a, &mut x)?;
            small.launch(&b, &mut y)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
