//! Both jobs become the two branches of a graph.
//!
//! A `PinnedHostSlice` makes the stream wait for an event of its own, which no capture takes; its words do not.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
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
        let mut pairs = Vec::new();
        for part in fresh {
            pairs.push((part.host.words()?, &mut part.device));
        }
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        second.join(&stream)?;
        for (from, to) in pairs {
            stream.memcpy_htod(from, to)?;
        }
        for part in resident {
            part.map(&second)?;
        }
        stream.join(&second)?;
        let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
        graph.expect("a capture with work in it is a graph").launch()?;
        stream.synchronize()?;
        Ok(())
    })
}
