//! Eight batches: images are uploaded from memory that was pinned before the loop, and kernels follow.

mod batches;

use batches::Batches;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let mut batches = Batches::new(lab)?;
    let images = batches.images.iter();
    let pinned = images.map(|images| images.pin(lab.context())).collect::<Result<Vec<_>>>()?;
    lab.region(|| {
        for images in &pinned {
            batches.stream.memcpy_htod(images, &mut batches.device)?;
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
