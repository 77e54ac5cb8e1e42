//! `SWIM-C06`, issue-order.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (streams, kernel) = (each(4, || stream(lab))?, Kernel::new(lab)?);
    let (mut data, host) = (each(32, || device(lab))?, pinned(lab)?);
    let mut results = each(32, || pinned(lab))?;
    lab.region(|| {
        // listing: SWIM-C06
        for i in 0..32 {
            streams[i % 4].memcpy_htod(&host, &mut data[i])?;
        }
        for i in 0..32 {
            kernel.launch(&streams[i % 4], &mut data[i])?;
        }
        for i in 0..32 {
            streams[i % 4].memcpy_dtoh(&data[i], &mut results[i])?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (streams, kernel) = (each(4, || stream(lab))?, Kernel::new(lab)?);
    let (mut data, host) = (each(32, || device(lab))?, pinned(lab)?);
    let mut results = each(32, || pinned(lab))?;
    lab.region(|| {
        // listing: SWIM-C06
        for i in 0..32 {
            streams[i % 4].memcpy_htod(&host, &mut data[i])?;
            kernel.launch(&streams[i % 4], &mut data[i])?;
            streams[i % 4].memcpy_dtoh(&data[i], &mut results[i])?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
