//! Four kernels of a job, and a request in a stream of the highest priority. Waves of blocks in a kernel of the job: {waves}.

use std::time::Duration;

use lab::priorities::{Server, get_priority_range};
use lab::{Lab, Result, host_work};

fn program(lab: &Lab) -> Result<()> {
    let waves = lab.number("waves", 1)?;
    let context = lab.context();
    let (_least, highest) = get_priority_range()?;
    let stream = context.new_stream()?;
    let fast = context.new_stream_with_priority(highest)?;
    let server = Server::of(lab)?;
    let mut job = server.job()?;
    let mut request = server.request(0)?;
    lab.region(|| {
        for _ in 0..4 {
            job.launch(&stream, 1, waves)?;
        }
        host_work(Duration::from_micros(480))?;
        request.queue(&fast)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
