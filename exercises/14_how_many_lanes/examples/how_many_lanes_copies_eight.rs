//! Eight uploads, each in a stream of its own.
//!
//! Run it with `cargo run -- run how_many_lanes --program copies_eight`.

use lab::how_many_lanes::Upload;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let streams = (0..8).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let mut uploads = Upload::several(lab, 8)?;
    lab.region(|| {
        for (upload, stream) in uploads.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_htod(&upload.host, &mut upload.device)?;
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
