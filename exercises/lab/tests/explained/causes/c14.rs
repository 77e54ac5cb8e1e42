//! `SWIM-C14`, full-queue.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::sized(lab, 16, 200)?);
    let (mut x, mut blocks, host) = (sized(lab, 1)?, each(4, || sized(lab, 256))?, vast(lab)?);
    lab.region(|| {
        // listing: SWIM-C14
        for _ in 0..1500 {
            kernel.launch(&a, &mut x)?; // the host is blocked from launch 1022 on
        }
        for block in &mut blocks {
            b.memcpy_htod(&host, block)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::sized(lab, 16, 200)?);
    let (mut x, mut blocks, host) = (sized(lab, 1)?, each(4, || sized(lab, 256))?, vast(lab)?);
    lab.region(|| {
        // listing: SWIM-C14
        for block in &mut blocks {
            b.memcpy_htod(&host, block)?;
        }
        for _ in 0..1500 {
            kernel.launch(&a, &mut x)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
