//! The puzzle as written, `non_blocking=False`: the host waits for each copy.

mod puzzle;

use lab::{HostMemory, Lab, Result, torch};
use puzzle::{MATMULS, Puzzle};

fn program(lab: &Lab) -> Result<()> {
    // PyTorch: `.to(cpu)` makes a pageable tensor, and the sources are pageable too.
    let mut puzzle = Puzzle::new(lab, HostMemory::Pageable, HostMemory::Pageable)?;
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
