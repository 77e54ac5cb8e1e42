//! `SWIM-C12`, late-event.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, mut others, host) =
        (each(8, || device(lab))?, each(8, || device(lab))?, pinned(lab)?);
    lab.region(|| {
        // listing: SWIM-C12
        for (block, other) in blocks.iter_mut().zip(&mut others) {
            a.memcpy_htod(&host, block)?;
            a.memcpy_htod(&host, other)?;
            let copied = a.record_event(None)?; // also stands for the second copy
            b.wait(&copied)?;
            kernel.launch(&b, block)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
    let (mut blocks, mut others, host) =
        (each(8, || device(lab))?, each(8, || device(lab))?, pinned(lab)?);
    lab.region(|| {
        // listing: SWIM-C12
        for (block, other) in blocks.iter_mut().zip(&mut others) {
            a.memcpy_htod(&host, block)?;
            let copied = a.record_event(None)?;
            a.memcpy_htod(&host, other)?;
            b.wait(&copied)?;
            kernel.launch(&b, block)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
