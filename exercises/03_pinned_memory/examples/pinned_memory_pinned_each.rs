//! Eight batches: the images of each are pinned in the loop and uploaded, and kernels follow.

mod batches;

use batches::{BATCHES, Batches};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let mut batches = Batches::new(lab)?;
    lab.region(|| {
        for batch in 0..BATCHES {
            let pinned = batches.images[batch].pin(lab.context())?;
            batches.stream.memcpy_htod(&pinned, &mut batches.device)?;
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
