//! A library's call between two non-blocking streams.

use lab::default_stream::Work;
use lab::exercise::Exercise;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let work = Work::open(lab)?;
    let context = work.context();
    let library = work.library();
    let (upload, download) = (context.new_stream()?, context.new_stream()?);
    let mut array = work.short()?;
    array.region(|blocks| {
        for block in blocks {
            upload.memcpy_htod(&block.input, &mut block.device)?;
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
