//! The kernels are asked for first, in a stream of the highest priority.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream_with_priority(-5)?;

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        resident.iter_mut().try_for_each(|part| part.map(&compute))?;
        fresh.iter_mut().try_for_each(|part| upload.memcpy_htod(&part.host, &mut part.device))?;
        context.synchronize()?;
        Ok(())
    })
}
