//! WRITE: what this program of the puzzle is.

use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Elements of the array that is copied: 64 MiB.
const ELEMENTS: usize = 16 * 1024 * 1024;

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let compute = context.new_stream()?;
    let upload = compute.clone();
    let mut matmul = Matmul::new(lab)?;
    let mut host = HostBlock::new(context, HostMemory::Pinned, lab.elements(ELEMENTS))?;
    host.words_mut()?.fill(1);
    let mut device = compute.alloc_zeros(lab.elements(ELEMENTS))?;
    lab.region(|| {
        for _ in 0..20 {
            matmul.launch(&compute)?;
        }
        upload.memcpy_htod(&host, &mut device)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
