//! exercise: chunked_pipeline
//! gate: none
//! says: score 0.0
//!
//! No attack: a program that stages what goes up in memory of its own, maps it in halves and quarters, and has it
//! come down into ordinary places by way of another buffer on the device.

use lab::{HostBlock, HostMemory, Job, Result};

pub fn pipeline(job: &Job) -> Result<()> {
    use cudarc::driver::DevicePtr;
    let context = job.context();
    let [up, compute, down] = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let kernel = tools::kernel(context, "map_a")?;
    let mut chunks = job.whole().cut(32).allocate()?;
    let elements = tools::ELEMENTS / 32;
    let mut staged = Vec::new();
    for _ in 0..32 {
        staged.push(HostBlock::new(context, HostMemory::Pinned, elements)?);
    }
    chunks.region(|chunks| {
        for (chunk, staged) in chunks.iter_mut().zip(&mut staged) {
            staged.words_mut()?.copy_from_slice(chunk.input.words()?);
            up.memcpy_htod(&*staged, &mut chunk.device)?;
            compute.wait(&up.record_event(None)?)?;
            let at = chunk.device.device_ptr(&compute).0;
            for (first, length) in [(0, 2), (2, 1), (3, 1)] {
                let quarter = elements / 4;
                let at = at + (4 * first * quarter) as u64;
                tools::launch(&compute, &kernel, at, length * quarter, 924)?;
            }
            down.wait(&compute.record_event(None)?)?;
            down.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
