//! Two streams forked from the first and joined again; the host waits for an event in the first.

use lab::{Lanes, Result};

/// Does the work of all three lanes.
pub fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let compute = context.new_stream()?;

    let mut pool = lanes.plan().pin_upload().pin_download().allocate()?;

    // The clock runs from here to the end of the closure.
    pool.region(|blocks| {
        let (upload, download) = (compute.fork()?, compute.fork()?);
        blocks.upload.iter_mut().try_for_each(|it| upload.memcpy_htod(&it.host, &mut it.device))?;
        blocks
            .download
            .iter_mut()
            .try_for_each(|it| download.memcpy_dtoh(&it.device, &mut it.host))?;
        blocks.resident.iter_mut().try_for_each(|it| it.map(&compute))?;
        compute.join(&upload)?;
        compute.join(&download)?;
        compute.record_event(None)?.synchronize()?;
        Ok(())
    })
}
