//! Uploads images as bytes, a quarter of the data.

use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Numbers of a batch.
const NUMBERS: usize = 8 << 20;

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let (upload, compute) = (context.new_stream()?, context.new_stream()?);
    let mut train = Matmul::new(lab)?;
    let words = lab.elements(NUMBERS) / 4;
    let mut images = HostBlock::new(context, HostMemory::Pinned, words)?;
    images.words_mut()?.fill(1);
    let mut batches = [upload.alloc_zeros(words)?, upload.alloc_zeros(words)?];
    let trained = [context.new_event(None)?, context.new_event(None)?];
    lab.region(|| {
        for number in 0..12 {
            let batch = &mut batches[number % 2];
            upload.wait(&trained[number % 2])?;
            upload.memcpy_htod(&images, batch)?;
            let uploaded = upload.record_event(None)?;
            compute.wait(&uploaded)?;
            for _ in 0..14 {
                train.launch(&compute)?;
            }
            trained[number % 2].record(&compute)?;
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
