//! Each tensor records the stream that made it.

use lab::buffer_lifetime::Work;
use lab::exercise::Exercise;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let work = Work::open(lab)?;
    let context = work.context();
    let (upload, compute) = (context.new_stream()?, context.new_stream()?);
    let memory = work.allocator();
    let mut batches = work.short()?;
    let words = batches.words();
    batches.region(|batches| {
        for batch in batches.iter_mut() {
            let mut x = memory.allocate(&upload, words)?;
            upload.memcpy_htod(&batch.input, &mut x)?;
            let uploaded = upload.record_event(None)?;
            compute.wait(&uploaded)?;

            let mut y = memory.allocate(&compute, words)?;
            work.map(&compute, &x, &mut y)?;
            compute.memcpy_dtoh(&y, &mut batch.output)?;
            x.record_stream(&upload);
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
