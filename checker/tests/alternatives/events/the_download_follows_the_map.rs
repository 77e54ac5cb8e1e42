//! Two streams: what comes down follows the map in its stream, and the copy up has its own.

use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let rest = context.new_stream()?;
    let emptied = [
        context.new_event(None)?,
        context.new_event(None)?,
        context.new_event(None)?,
        context.new_event(None)?,
    ];

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        for lap in laps {
            let slot = &mut slots[lap.slot];
            upload.wait(&emptied[lap.slot])?;
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            rest.join(&upload)?;
            slot.map(&rest)?;
            rest.memcpy_dtoh(&slot.data, &mut lap.output)?;
            emptied[lap.slot].record(&rest)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
