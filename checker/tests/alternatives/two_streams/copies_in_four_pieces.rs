//! Each part is copied in four pieces, and each job has a stream.

use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let (upload, compute) = (context.new_stream()?, context.new_stream()?);

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for part in fresh {
            let words = part.host.words()?;
            let piece = words.len() / 4;
            for (from, mut to) in
                words.chunks_exact(piece).zip(part.device.as_view_mut().chunks_exact_mut(piece))
            {
                upload.memcpy_htod(from, &mut to)?;
            }
        }
        for part in resident {
            part.map(&compute)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
