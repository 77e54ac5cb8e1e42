//! The puzzle as written: three iterations, with pageable host memory.

mod puzzle;

use lab::{HostMemory, Lab, Result, host_work};
use puzzle::{PREPARE, Puzzle};

fn program(lab: &Lab) -> Result<()> {
    let mut puzzle = Puzzle::new(lab, HostMemory::Pageable)?;
    lab.region(|| {
        // Iteration 1: labels are uploaded, 64 KiB.
        puzzle.kernels()?;
        let (labels, on_device) = &mut puzzle.labels;
        puzzle.stream.memcpy_htod(labels, on_device)?;
        host_work(PREPARE)?;
        puzzle.stream.synchronize()?;

        // Iteration 2: images are uploaded, 64 MiB.
        puzzle.kernels()?;
        let (images, on_device) = &mut puzzle.images;
        puzzle.stream.memcpy_htod(images, on_device)?;
        host_work(PREPARE)?;
        puzzle.stream.synchronize()?;

        // Iteration 3: losses are downloaded, 4 KiB.
        puzzle.kernels()?;
        let (losses, on_device) = &mut puzzle.losses;
        puzzle.stream.memcpy_dtoh(on_device, losses)?;
        host_work(PREPARE)?;
        puzzle.stream.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
