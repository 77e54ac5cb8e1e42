//! The puzzle with pinned tensors on both sides, `non_blocking=False`.

mod puzzle;

use lab::{HostMemory, Lab, Result, torch};
use puzzle::{MATMULS, Puzzle};

fn program(lab: &Lab) -> Result<()> {
    // PyTorch: `pin_memory()` on the sources, `copy_` into pinned tensors.
    let mut puzzle = Puzzle::new(lab, HostMemory::Pinned, HostMemory::Pinned)?;
    lab.region(|| {
        for _ in 0..MATMULS {
            torch::matmul()?;
            puzzle.matmul.launch(&puzzle.s1)?;
        }
        for (device, host) in &mut puzzle.down {
            torch::to_cpu()?;
            puzzle.s2.memcpy_dtoh(device, host)?;
            puzzle.s2.synchronize()?;
        }
        for (host, device) in &mut puzzle.up {
            torch::to_cuda()?;
            puzzle.s3.memcpy_htod(host, device)?;
            puzzle.s3.synchronize()?;
        }
        lab.context().synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
