//! One graph: what leads to the engines then is what needs what.
//!
//! A `PinnedHostSlice` makes the stream wait for an event of its own, which no capture takes; its words do not.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use lab::Result;
use lab::issue_order::{CHUNKS, Step, Work};

/// Does the work.
pub fn pipeline(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = [
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
    ];
    let mut chunks = work.allocate()?;

    // What the host asks for, in this order: steps, and the chunks that they are for.

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        let mut words = Vec::new();
        for chunk in chunks.iter_mut() {
            words.push((chunk.input.words()?.as_ptr(), chunk.output.words_mut()?.as_mut_ptr()));
        }
        let [first, others @ ..] = &streams;
        first.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        for other in others {
            other.join(first)?;
        }
        for step in Step::ALL {
            for index in 0..CHUNKS {
                let (chunk, stream) = (&mut chunks[index], &streams[index % streams.len()]);
                let ((input, output), length) = (words[index], chunk.device.len());
                // SAFETY: both are pinned memory of this chunk, as long as its device memory.
                let (input, output) = unsafe {
                    let input = std::slice::from_raw_parts(input, length);
                    (input, std::slice::from_raw_parts_mut(output, length))
                };
                match step {
                    Step::Up => stream.memcpy_htod(input, &mut chunk.device)?,
                    Step::Map => chunk.map(stream)?,
                    Step::Down => stream.memcpy_dtoh(&chunk.device, output)?,
                }
            }
        }
        for other in others {
            first.join(other)?;
        }
        let graph = first.end_capture(CUgraphInstantiate_flags(0))?;
        graph.expect("the chunks are a graph").launch()?;
        context.synchronize()?;
        Ok(())
    })
}
