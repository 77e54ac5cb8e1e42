//! The baseline of `events`: the same three streams, and the host carries each baton. Correct, and nothing
//! overlaps.

use lab::Result;
use lab::events::Relay;

fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let mut course = relay.allocate()?;
    course.region(|laps, slots| {
        for lap in laps {
            let slot = &mut slots[lap.slot];
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            upload.synchronize()?;
            slot.map(&compute)?;
            compute.synchronize()?;
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            download.synchronize()?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(relay)
}
