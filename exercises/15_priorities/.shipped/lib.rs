//! # Stream priorities: the fast lane
//!
//! A server has a GPU. While it has nothing else to do, the GPU works on a big job: 32 steps, each of which launches a kernel
//! that fills the device for 0.4 ms. Meanwhile 16 requests arrive, and somebody waits for each answer. To answer one, the
//! server copies a question to the device, runs a small kernel on it, and copies the answer back. On an idle device that
//! takes a few hundredths of a millisecond.
//!
//! **Your task:** answer each request soon after it has arrived, and get the job done as fast as before. You choose the
//! streams and their priorities, and how the job is launched. Run `cargo run -- run priorities`: it says how long requests
//! had to wait.
//!
//! - `job.launch(&stream, parts, waves)?;` launches the next part of a step, where `parts` parts make a step, as a grid of
//!   `waves` times as many blocks as the device has room for. The blocks share the work evenly.
//! - `requests.next()?` waits until a request has arrived. `request.queue(&stream)?;` puts all that it takes to answer it
//!   into a stream, and `request.send()?;` sends what is in host memory by then.
//! - `context.new_stream_with_priority(number)?` makes a stream, and `get_priority_range()?` tells between which two numbers
//!   priorities are on this device: the least one first. `context.new_stream()?` makes a stream of priority 0, the least.
//!
//! Edit between the `region` marks only. A line that is added may define `streams` or `waves` again: what is below then
//! uses that.

use lab::Result;
use lab::priorities::Server;
#[allow(unused_imports, reason = "for whoever wants it")]
use lab::priorities::get_priority_range;

/// Does the job, and answers requests.
pub fn serve(server: &Server) -> Result<()> {
    let context = server.context();
    let stream = context.new_stream()?;
    let streams = [&stream, &stream];
    let waves = 1;
    // region: streams
    // endregion
    let [working, serving] = streams;
    let mut service = server.allocate()?;

    // The clock runs from here to the end of the closure.
    service.region(|job, requests| {
        // region: job
        // endregion
        while job.left() > 0 {
            job.launch(working, 1, waves)?;
        }
        while let Some(request) = requests.next()? {
            // region: request
            // endregion
            request.queue(serving)?;
            serving.synchronize()?;
            request.send()?;
        }
        context.synchronize()?;
        Ok(())
    })
}
