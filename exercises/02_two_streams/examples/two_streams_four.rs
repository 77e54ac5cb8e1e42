//! Both jobs in two halves, and a stream for each half.

use lab::exercise::Exercise;
use lab::two_streams::Jobs;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let jobs = Jobs::open(lab)?;
    let context = jobs.context();
    let (first, second) = (context.new_stream()?, context.new_stream()?);
    let (third, fourth) = (context.new_stream()?, context.new_stream()?);
    let mut course = jobs.halves()?;
    course.region(|fresh, resident| {
        first.memcpy_htod(&fresh[0].host, &mut fresh[0].device)?;
        second.memcpy_htod(&fresh[1].host, &mut fresh[1].device)?;
        resident[0].map(&third)?;
        resident[1].map(&fourth)?;
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
