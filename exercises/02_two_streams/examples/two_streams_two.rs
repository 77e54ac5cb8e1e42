//! The same copy and the same kernel, on two streams.

use lab::exercise::Exercise;
use lab::two_streams::Jobs;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let jobs = Jobs::open(lab)?;
    let context = jobs.context();
    let first = context.new_stream()?;
    let second = context.new_stream()?;
    let mut course = jobs.whole()?;
    course.region(|fresh, resident| {
        first.memcpy_htod(&fresh[0].host, &mut fresh[0].device)?;
        resident[0].map(&second)?;
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
