//! Eight batches: images go up from pinned memory that was allocated before, kernels follow.
//!
//! Run it with `cargo run -- run pinned_memory --program pinned_once`.

mod batches;

use batches::{BATCHES, Batches};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let mut batches = Batches::new(lab)?;
    let pinned = batches.images.pin(lab.context())?;
    lab.region(|| {
        for _ in 0..BATCHES {
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
