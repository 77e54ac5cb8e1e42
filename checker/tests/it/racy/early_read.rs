//! The first word of each chunk is looked at as soon as it is asked for.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let copy_in = context.new_stream()?;
    let compute = context.new_stream()?;
    let copy_out = context.new_stream()?;
    let mut chunks = job.whole().cut(16).allocate()?;
    let mut sum = 0u32;
    chunks.region(|chunks| {
        for chunk in chunks {
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            let uploaded = copy_in.record_event(None)?;
            compute.wait(&uploaded)?;
            chunk.map(&compute)?;
            let mapped = compute.record_event(None)?;
            copy_out.wait(&mapped)?;
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
            sum = sum.wrapping_add(chunk.output.words()?[0]);
        }
        context.synchronize()?;
        Ok(())
    })?;
    println!("the sum is {sum}");
    Ok(())
}
