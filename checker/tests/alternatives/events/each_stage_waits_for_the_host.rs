//! Three streams, and the host waits between the stages: right, and nothing overlaps.

use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
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
        Ok(())
    })
}
