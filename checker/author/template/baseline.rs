//! The baseline of `chapter_name`: a single stream. Correct, and nothing overlaps.

use lab::Result;
use lab::chapter_name::Work;

fn solve(work: &Work) -> Result<()> {
    let context = work.context();
    let stream = context.new_stream()?;
    let mut blocks = work.allocate()?;
    blocks.region(|blocks| {
        for block in blocks {
            stream.memcpy_htod(&block.input, &mut block.device)?;
            block.map(&stream)?;
            stream.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(solve)
}
