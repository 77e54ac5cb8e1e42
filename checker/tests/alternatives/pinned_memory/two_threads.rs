//! Two threads, each with a stream and every other part.

use lab::Result;
use lab::pinned_memory::Batch;

/// Evaluates the batch.
pub fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels();
        let images = batch.images().pin(context)?;
        let losses = batch.losses().pin(context)?;
        parts.push(batch.part(labels, images, losses)?);
    }

    // The clock runs from here to the end of the closure.
    batch.region(&mut parts, |parts| {
        lab::thread::scope(|scope| {
            let mut shares = [Vec::new(), Vec::new()];
            for (index, part) in parts.iter_mut().enumerate() {
                shares[index % 2].push(part);
            }
            let mut workers = Vec::new();
            for (share, stream) in shares.into_iter().zip(&streams) {
                workers.push(scope.spawn(move || -> Result<()> {
                    for part in share {
                        stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
                        stream.memcpy_htod(&part.images, &mut part.device.images())?;
                        part.evaluate(stream)?;
                        stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
                    }
                    Ok(stream.synchronize()?)
                })?);
            }
            for worker in workers {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(())
        })
    })
}
