//! `SWIM-C16`, idle-host-work.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (stream, mut blocks, host) = (stream(lab)?, each(8, || device(lab))?, pinned(lab)?);
    let load = Duration::from_micros(300);
    lab.region(|| {
        // listing: SWIM-C16
        for block in &mut blocks {
            host_work(load)?; // the device has nothing to do
            stream.memcpy_htod(&host, block)?;
            stream.synchronize()?; // and only then comes the next load
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (stream, mut blocks, host) = (stream(lab)?, each(8, || device(lab))?, pinned(lab)?);
    let load = Duration::from_micros(300);
    lab.region(|| {
        // listing: SWIM-C16
        for block in &mut blocks {
            stream.memcpy_htod(&host, block)?;
            host_work(load)?;
            stream.synchronize()?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
