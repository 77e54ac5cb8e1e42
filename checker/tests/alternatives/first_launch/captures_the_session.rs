//! All lengths become a graph, which is one launch.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        for length in lengths.iter_mut() {
            length.map(&stream)?;
        }
        let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
        let graph = graph.expect("a capture with kernels in it is a graph");
        graph.launch()?;
        for _ in lengths.iter() {
            log.note()?;
        }
        stream.synchronize()?;
        Ok(())
    })
}
