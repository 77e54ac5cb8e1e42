//! The events of `timed`, beside non-blocking streams.

use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Elements of a block: 8 MiB.
const ELEMENTS: usize = 2 * 1024 * 1024;

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let (upload, compute) = (context.new_stream()?, context.new_stream()?);
    let mut matmul = Matmul::new(lab)?;
    let elements = lab.elements(ELEMENTS);
    let mut host = HostBlock::new(context, HostMemory::Pinned, elements)?;
    host.words_mut()?.fill(1);
    let default = context.default_stream();
    let mut device = default.alloc_zeros(elements)?;
    let (before, after) = (context.new_event(None)?, context.new_event(None)?);
    lab.region(|| {
        for _ in 0..8 {
            before.record(&default)?;
            upload.memcpy_htod(&host, &mut device)?;
            after.record(&default)?;
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
