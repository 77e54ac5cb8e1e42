//! A stream that does nothing but wait hands on what the others need, and more: each copy up waits for the
//! copy down of the lap before.

use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let referee = context.new_stream()?;

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        for (index, lap) in laps.iter_mut().enumerate() {
            let slot = &mut slots[lap.slot];
            if index >= 4 {
                // The referee is behind all copies down so far.
                upload.join(&referee)?;
            }
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            compute.join(&upload)?;
            slot.map(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            referee.join(&download)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
