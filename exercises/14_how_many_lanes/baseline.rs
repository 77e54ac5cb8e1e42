//! The baseline of `how_many_lanes`: one launch for all tasks and one for all requests, in one stream. Correct, and each
//! step waits for the one before it.

use lab::Result;
use lab::how_many_lanes::{REQUESTS, TASKS, Work};

fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let stream = context.new_stream()?;
    let mut tasks = work.allocate(TASKS)?;
    tasks.region(|groups, model| {
        model.update(&stream)?;
        model.answer(&stream, REQUESTS)?;
        for group in groups {
            stream.memcpy_htod(&group.input, &mut group.device)?;
            group.launch(&stream)?;
            stream.memcpy_dtoh(&group.device, &mut group.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(process)
}
