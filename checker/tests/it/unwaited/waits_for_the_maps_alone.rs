//! The maps in a second stream, and a last wait for their stream alone.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let stream = context.new_stream()?;
    // region: streams
    let second = context.new_stream()?;
    // endregion

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for part in fresh {
            stream.memcpy_htod(&part.host, &mut part.device)?;
        }
        // region: between the jobs
        let stream = second;
        // endregion
        for part in resident {
            part.map(&stream)?;
        }
        // region: at the end
        stream.synchronize()?;
        // endregion
        Ok(())
    })
}
