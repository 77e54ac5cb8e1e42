//! Two streams, and each waits for the other with every part: nothing overlaps.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let (upload, compute) = (context.new_stream()?, context.new_stream()?);

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for (new, old) in fresh.iter_mut().zip(resident) {
            upload.memcpy_htod(&new.host, &mut new.device)?;
            compute.join(&upload)?;
            old.map(&compute)?;
            upload.join(&compute)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
