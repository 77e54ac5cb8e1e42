//! The baseline of `three_lanes`: pinned memory, but a single stream. Correct, and nothing overlaps.

use lab::{Lanes, Result};

fn swim(lanes: &Lanes) -> Result<()> {
    let context = lanes.context();
    let stream = context.new_stream()?;
    let mut pool = lanes.plan().pin_upload().pin_download().allocate()?;
    pool.region(|blocks| {
        for block in &mut blocks.resident {
            block.map(&stream)?;
        }
        for block in &mut blocks.download {
            stream.memcpy_dtoh(&block.device, &mut block.host)?;
        }
        for block in &mut blocks.upload {
            stream.memcpy_htod(&block.host, &mut block.device)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(swim)
}
