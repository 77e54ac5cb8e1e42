//! The chunks go in another order, and each in two halves.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut chunks = job.whole().cut(16).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        for chunk in chunks.iter_mut().rev() {
            let middle = chunk.device.len() / 2;
            let (first, second) = chunk.input.words()?.split_at(middle);
            {
                let (mut left, mut right) = chunk.device.split_at_mut(middle);
                upload.memcpy_htod(second, &mut right)?;
                upload.memcpy_htod(first, &mut left)?;
            }
            compute.join(&upload)?;
            chunk.map(&compute)?;
            download.join(&compute)?;
            let (left, right) = chunk.device.split_at(middle);
            let (first, second) = chunk.output.words_mut()?.split_at_mut(middle);
            download.memcpy_dtoh(&left, first)?;
            download.memcpy_dtoh(&right, second)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
