//! Uploads and matrix multiplications in two blocking streams.

use lab::matmul::Matmul;
use lab::streams::blocking_stream;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Elements of a block: 8 MiB.
const ELEMENTS: usize = 2 * 1024 * 1024;

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let (upload, compute) = (blocking_stream(context)?, blocking_stream(context)?);
    let mut matmul = Matmul::new(lab)?;
    let elements = lab.elements(ELEMENTS);
    let mut host = HostBlock::new(context, HostMemory::Pinned, elements)?;
    host.words_mut()?.fill(1);
    let default = context.default_stream();
    let mut device = default.alloc_zeros(elements)?;
    lab.region(|| {
        for _ in 0..8 {
            upload.memcpy_htod(&host, &mut device)?;
            for _ in 0..3 {
                matmul.launch(&compute)?;
            }
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
