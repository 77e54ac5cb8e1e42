//! 200 tiny kernels in the default stream, and no other stream.

use lab::exercise::Exercise;
use lab::wrapper_tracking::Work;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let work = Work::open(lab)?;
    let context = work.context();
    let stream = context.default_stream();
    let input = stream.alloc_zeros(64)?;
    let mut result = stream.alloc_zeros(64)?;
    lab.region(|| {
        for _ in 0..200 {
            work.tiny(&stream, &input.as_view(), &mut result.as_view_mut())?;
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
