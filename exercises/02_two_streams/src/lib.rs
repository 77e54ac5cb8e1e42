//! # Two streams: the smallest overlap
//!
//! Sixteen parts of one array are copied to the device. Sixteen parts of another array are on the device
//! already, and a kernel maps each of them. The two jobs are independent, and each has an engine of its own.
//! But they are in one stream, so the kernels come after the copies.
//!
//! **Your task:** let the two jobs run side by side. Run `cargo run -- run two_streams` and count the rows
//! below the host's.
//!
//! `context.new_stream()?` makes one more stream. `stream.synchronize()?` blocks the host until that stream is
//! done, `context.synchronize()?` until all of them are. When the closure returns, the device has to be idle.
//! Edit between the `region` marks only; lines are added or moved, none is changed. A second `let` of the same
//! name takes the place of the first from there on.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let stream = context.new_stream()?;
    // region: streams
    // endregion

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for part in fresh {
            stream.memcpy_htod(&part.host, &mut part.device)?;
        }
        // region: between the jobs
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
