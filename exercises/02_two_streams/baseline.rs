//! The baseline of `two_streams`: both jobs in one stream. Correct, and nothing overlaps.

use lab::Result;
use lab::two_streams::Jobs;

fn swim(jobs: &Jobs) -> Result<()> {
    let stream = jobs.context().new_stream()?;
    let mut course = jobs.allocate()?;
    course.region(|fresh, resident| {
        for part in fresh {
            stream.memcpy_htod(&part.host, &mut part.device)?;
        }
        for part in resident {
            part.map(&stream)?;
        }
        Ok(stream.synchronize()?)
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(swim)
}
