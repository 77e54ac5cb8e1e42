//! Two host threads, a stream for each.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        lab::thread::scope(|scope| {
            let copies = scope.spawn(|| -> Result<()> {
                for part in fresh {
                    upload.memcpy_htod(&part.host, &mut part.device)?;
                }
                Ok(upload.synchronize()?)
            })?;
            for part in resident {
                part.map(&compute)?;
            }
            compute.synchronize()?;
            copies.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
