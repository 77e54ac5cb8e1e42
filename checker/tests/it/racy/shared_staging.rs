//! The chunks share one staging buffer on the device: each is copied there first, then to its place.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let copy_in = context.new_stream()?;
    let compute = context.new_stream()?;
    let mut chunks = job.whole().cut(8).allocate()?;
    chunks.region(|chunks| {
        // SAFETY: each chunk is copied into it before it is read.
        let mut staging = unsafe { copy_in.alloc::<u32>(chunks[0].input.len())? };
        for chunk in chunks {
            copy_in.memcpy_htod(&chunk.input, &mut staging)?;
            let uploaded = copy_in.record_event(None)?;
            compute.wait(&uploaded)?;
            compute.memcpy_dtod(&staging, &mut chunk.device)?;
            chunk.map(&compute)?;
            compute.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
