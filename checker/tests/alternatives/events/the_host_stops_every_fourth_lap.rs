//! The right events within a lap; between laps the host waits for everything, every fourth time.

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
        for laps in laps.chunks_mut(4) {
            for lap in laps {
                let slot = &mut slots[lap.slot];
                upload.memcpy_htod(&lap.input, &mut slot.data)?;
                compute.join(&upload)?;
                slot.map(&compute)?;
                download.join(&compute)?;
                download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            }
            context.synchronize()?;
        }
        Ok(())
    })
}
