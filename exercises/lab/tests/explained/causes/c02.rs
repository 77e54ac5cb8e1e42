//! `SWIM-C02`, default-stream-barrier.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (compute, null) = (lab.context().per_thread_stream(), lab.context().default_stream());
    let (kernel, mut x) = (Kernel::new(lab)?, device(lab)?);
    let (host, mut blocks) = (pinned(lab)?, each(8, || device(lab))?);
    lab.region(|| {
        // listing: SWIM-C02
        // `null` is the default stream, `compute` a blocking one: that of the thread
        for block in &mut blocks {
            kernel.launch(&compute, &mut x)?;
            null.memcpy_htod(&host, block)?; // waits for `compute`, and `compute` for it
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (compute, upload) = (lab.context().per_thread_stream(), stream(lab)?);
    let (kernel, mut x) = (Kernel::new(lab)?, device(lab)?);
    let (host, mut blocks) = (pinned(lab)?, each(8, || device(lab))?);
    lab.region(|| {
        // listing: SWIM-C02
        for block in &mut blocks {
            kernel.launch(&compute, &mut x)?;
            upload.memcpy_htod(&host, block)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
