//! Another stream of the same priority, and each step of the job in four parts.

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
    let other = context.new_stream()?;
    let streams = [streams[0], &other];
    // endregion
    let [working, serving] = streams;
    let mut service = server.allocate()?;

    // The clock runs from here to the end of the closure.
    service.region(|job, requests| {
        // region: job
        while job.left() > 0 {
            job.launch(working, 4, waves)?;
        }
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
