//! exercise: chunked_pipeline
//! gate: output
//! says: goes back to a copy at src/lib.rs:36 of something that is not the task's input
//!
//! The host computes the output where the input is, and what goes up is what comes down. The kernels work on
//! something else.

use lab::{Job, Result};

pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let [copies, compute] = [context.new_stream()?, context.new_stream()?];
    let kernel = tools::kernel(context, "map_a")?;
    let elements = tools::ELEMENTS / 32;
    let mapped = copies.alloc_zeros::<u32>(elements)?;
    let at = {
        use cudarc::driver::DevicePtr;
        mapped.device_ptr(&copies).0
    };
    let map = tools::maps(&[tools::A]);
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(context.new_stream()?);
    }
    job.whole().cut(32).allocate()?.region(|chunks| {
        for (index, chunk) in chunks.iter_mut().enumerate() {
            let stream = &streams[index % 4];
            for word in chunk.input.words_mut()? {
                *word = tools::apply(map, *word);
            }
            tools::launch(&compute, &kernel, at, elements, 924)?;
            // The line that is to be named.



            stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
            stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
