//! The second stream is forked from the first and joined to it again; the host waits for the first alone.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let stream = context.new_stream()?;

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        let second = stream.fork()?;
        for part in fresh {
            stream.memcpy_htod(&part.host, &mut part.device)?;
        }
        for part in resident {
            part.map(&second)?;
        }
        stream.join(&second)?;
        stream.synchronize()?;
        Ok(())
    })
}
