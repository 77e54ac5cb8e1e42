//! The kernels go into the thread's default stream, and the host asks both whether they are done.

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
        let own = context.per_thread_stream();
        for part in resident {
            part.map(&own)?;
        }
        let ends = [stream.record_event(None)?, own.record_event(None)?];
        while !ends.iter().all(|end| end.is_complete()) {
            std::hint::spin_loop();
        }
        Ok(())
    })
}
