//! The puzzle as written: a copy and a kernel, on one stream.

use lab::exercise::Exercise;
use lab::two_streams::Jobs;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let jobs = Jobs::open(lab)?;
    let context = jobs.context();
    let stream = context.new_stream()?;
    let mut course = jobs.whole()?;
    course.region(|fresh, resident| {
        stream.memcpy_htod(&fresh[0].host, &mut fresh[0].device)?;
        resident[0].map(&stream)?;
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
