//! Streams that are ordered with the legacy default stream, and an event in that one behind both.

use cudarc::driver::result::stream::{StreamKind, create};
use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    // SAFETY: the streams are made here, and live until the process ends.
    let (upload, compute) = unsafe {
        let raw = [create(StreamKind::Default)?, create(StreamKind::Default)?];
        (context.wrap_borrowed_stream(raw[0]), context.wrap_borrowed_stream(raw[1]))
    };

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for (new, old) in fresh.iter_mut().zip(resident) {
            upload.memcpy_htod(&new.host, &mut new.device)?;
            old.map(&compute)?;
        }
        // Behind all that is in the two.
        let all = context.default_stream().record_event(None)?;
        all.synchronize()?;
        Ok(())
    })
}
