//! exercise: chunked_pipeline
//! gate: output
//! says: no copy or kernel of the region
//!
//! Something comes down into the output's own memory, and the host writes the right words over it.

use lab::{Job, Result};

pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let [up, compute, down] = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let kernel = tools::kernel(context, "map_a")?;
    let elements = tools::ELEMENTS / 32;
    let mapped = up.alloc_zeros::<u32>(elements)?;
    let fetched = up.alloc_zeros::<u32>(elements)?;
    let at = {
        use cudarc::driver::DevicePtr;
        mapped.device_ptr(&up).0
    };
    let map = tools::maps(&[tools::A]);
    job.whole().cut(32).allocate()?.region(|chunks| {
        for chunk in chunks.iter_mut() {
            up.memcpy_htod(&chunk.input, &mut chunk.device)?;
            tools::launch(&compute, &kernel, at, elements, 924)?;
            down.memcpy_dtoh(&fetched, &mut chunk.output)?;
        }
        context.synchronize()?;
        for chunk in chunks {
            let input = chunk.input.words()?.to_vec();
            for (to, from) in chunk.output.words_mut()?.iter_mut().zip(input) {
                *to = tools::apply(map, from);
            }
        }
        Ok(())
    })
}
