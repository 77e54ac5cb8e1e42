//! `SWIM-C11`, needless-wait.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C11
        for block in &mut blocks {
            a.memcpy_htod(&host, block)?;
            let copied = a.record_event(None)?;
            b.wait(&copied)?; // `b` uses nothing of what `a` made
            kernel.launch(&b, &mut own)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C11
        for block in &mut blocks {
            a.memcpy_htod(&host, block)?;
            kernel.launch(&b, &mut own)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
