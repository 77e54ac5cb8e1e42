//! The upload has a non-blocking stream and an event, the download still has a blocking stream.

use lab::default_stream::Work;
use lab::exercise::Exercise;
use lab::streams::blocking_stream;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let work = Work::open(lab)?;
    let context = work.context();
    let library = work.library();
    let default = context.default_stream();
    let (upload, download) = (context.new_stream()?, blocking_stream(context)?);
    let mut array = work.short()?;
    array.region(|blocks| {
        for block in blocks {
            upload.memcpy_htod(&block.input, &mut block.device)?;
            let uploaded = upload.record_event(None)?;
            default.wait(&uploaded)?;
            library.transform(&mut block.device)?;
            download.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
