//! The baseline of `priorities`: a single stream, in which each request waits for all of the job.

use lab::Result;
use lab::priorities::Server;

fn serve(server: &Server) -> Result<()> {
    let context = server.context();
    let stream = context.new_stream()?;
    let mut service = server.allocate()?;
    service.region(|job, requests| {
        while job.left() > 0 {
            job.launch(&stream, 1, 1)?;
        }
        while let Some(request) = requests.next()? {
            request.queue(&stream)?;
            stream.synchronize()?;
            request.send()?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(serve)
}
