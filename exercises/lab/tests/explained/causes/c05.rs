//! `SWIM-C05`, device-wide-wait.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
    let scratches = each(8, || pinned(lab))?;
    lab.region(|| {
        // listing: SWIM-C05
        for (block, scratch) in blocks.iter_mut().zip(scratches) {
            kernel.launch(&a, &mut x)?;
            drop(scratch); // pinned memory: `cuMemFreeHost` waits for the kernel
            b.memcpy_htod(&host, block)?; // comes after it
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
    let (scratches, context) = (each(8, || pinned(lab))?, lab.context());
    lab.region(|| {
        // listing: SWIM-C05
        for block in &mut blocks {
            kernel.launch(&a, &mut x)?;
            b.memcpy_htod(&host, block)?;
        }
        context.synchronize()?;
        drop(scratches);
        // end
        finish(lab)
    })?;
    Ok(())
}
