//! The kernels go into the legacy default stream, which does not wait for a stream that is non-blocking.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let stream = context.new_stream()?;

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for part in fresh {
            stream.memcpy_htod(&part.host, &mut part.device)?;
        }
        let default = context.default_stream();
        for part in resident {
            part.map(&default)?;
        }
        default.synchronize()?;
        stream.synchronize()?;
        Ok(())
    })
}
