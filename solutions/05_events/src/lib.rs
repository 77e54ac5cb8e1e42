//! The solution of `events`: every stage waits for the one before it, and the copy up for its slot.

use lab::Result;
use lab::events::Relay;

/// Runs the iterations.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;

    let mut course = relay.allocate()?;
    // region: events
    // One for each slot: recorded anew in each lap, and waited for before the next lap through that slot.
    let emptied = [
        context.new_event(None)?,
        context.new_event(None)?,
        context.new_event(None)?,
        context.new_event(None)?,
    ];
    // endregion

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        for lap in laps {
            let slot = &mut slots[lap.slot];
            // region: before the copy up
            // In the first four laps nothing has been recorded yet, and this waits for nothing.
            upload.wait(&emptied[lap.slot])?;
            // endregion
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            // region: before the map
            let uploaded = upload.record_event(None)?;
            compute.wait(&uploaded)?;
            // endregion
            slot.map(&compute)?;
            // region: before the copy down
            let mapped = compute.record_event(None)?;
            download.wait(&mapped)?;
            // endregion
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            // region: after the copy down
            emptied[lap.slot].record(&download)?;
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
