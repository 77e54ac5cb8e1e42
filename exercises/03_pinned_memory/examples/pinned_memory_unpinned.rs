//! Eight batches: images are uploaded from pageable memory, and kernels follow.

mod batches;

use batches::{BATCHES, Batches};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let mut batches = Batches::new(lab)?;
    lab.region(|| {
        for batch in 0..BATCHES {
            batches.stream.memcpy_htod(&batches.images[batch], &mut batches.device)?;
            batches.kernels()?;
        }
        lab.context().synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
