//! The baseline of `pinned_memory`: pinned memory, and the host waits for each part all the same. Correct, and
//! nothing overlaps.

use lab::Result;
use lab::pinned_memory::Batch;

fn evaluate(batch: &Batch) -> Result<()> {
    let context = batch.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut parts = Vec::new();
    for _ in 0..batch.parts() {
        let labels = batch.labels();
        let images = batch.images().pin(context)?;
        let losses = batch.losses().pin(context)?;
        parts.push(batch.part(labels, images, losses)?);
    }

    batch.region(&mut parts, |parts| {
        for (index, part) in parts.iter_mut().enumerate() {
            let stream = &streams[index % 2];
            stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
            stream.memcpy_htod(&part.images, &mut part.device.images())?;
            part.evaluate(stream)?;
            stream.memcpy_dtoh(&part.device.losses(), &mut part.losses)?;
            // What pageable memory does to the host, without its slower copies.
            stream.synchronize()?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(evaluate)
}
