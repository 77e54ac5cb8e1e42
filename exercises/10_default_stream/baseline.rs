//! The baseline of `default_stream`: blocking streams, which take turns with the library. Correct, and the
//! library's kernels run alone.

use lab::Result;
use lab::default_stream::Work;
use lab::streams::blocking_stream;

fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let (upload, download) = (blocking_stream(context)?, blocking_stream(context)?);
    let mut array = work.allocate()?;
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
    lab::exercise!(process)
}
