//! Eight uploads. Streams that take them in turn: {n}.

use lab::how_many_lanes::Upload;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let n = lab.number("n", 1)?;
    let context = lab.context();
    let streams = (0..n).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let mut uploads = Upload::several(lab, 8)?;
    lab.region(|| {
        for (i, upload) in uploads.iter_mut().enumerate() {
            let stream = &streams[i % n];
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
