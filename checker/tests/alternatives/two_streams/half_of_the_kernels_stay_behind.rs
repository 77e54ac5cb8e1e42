//! Half of the kernels have a stream of their own; the other half still stand behind the copies.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let stream = context.new_stream()?;
    let second = context.new_stream()?;

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for part in fresh {
            stream.memcpy_htod(&part.host, &mut part.device)?;
        }
        let (first, rest) = resident.split_at_mut(8);
        for part in first {
            part.map(&second)?;
        }
        for part in rest {
            part.map(&stream)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
