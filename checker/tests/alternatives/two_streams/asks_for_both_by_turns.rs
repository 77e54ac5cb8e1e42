//! A copy and a kernel by turns, each into its own stream.

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
            old.map(&compute)?;
            upload.memcpy_htod(&new.host, &mut new.device)?;
        }
        for stream in [&upload, &compute] {
            stream.synchronize()?;
        }
        Ok(())
    })
}
