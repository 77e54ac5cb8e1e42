//! Three threads and two channels: whoever has done its step waits for it and passes the chunk on.

use lab::{Job, Result};

/// Does the job.
pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut chunks = job.whole().cut(32).allocate()?;

    // The clock runs from here to the end of the closure.
    chunks.region(|chunks| {
        lab::thread::scope(|scope| {
            let (to_map, mappable) = lab::thread::channel()?;
            let (to_copy, copyable) = lab::thread::channel()?;
            let (compute, download) = (&compute, &download);
            let mapper = scope.spawn(move || -> Result<()> {
                for (chunk, uploaded) in mappable.iter() {
                    let chunk: &mut lab::pipeline::Chunk = chunk;
                    compute.wait(&uploaded)?;
                    chunk.map(compute)?;
                    let mapped = compute.record_event(None)?;
                    if to_copy.send((chunk, mapped)).is_err() {
                        break;
                    }
                }
                Ok(())
            })?;
            let copier = scope.spawn(move || -> Result<()> {
                for (chunk, mapped) in copyable.iter() {
                    download.wait(&mapped)?;
                    download.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
                }
                Ok(download.synchronize()?)
            })?;
            for chunk in chunks {
                upload.memcpy_htod(&chunk.input, &mut chunk.device)?;
                let uploaded = upload.record_event(None)?;
                if to_map.send((chunk, uploaded)).is_err() {
                    break;
                }
            }
            drop(to_map);
            mapper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            copier.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
