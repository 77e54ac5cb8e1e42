//! Each lap allocates what it needs and frees it, in the order of its own stream.

use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let streams =
        (0..4).map(|_| context.new_stream()).collect::<std::result::Result<Vec<_>, _>>()?;

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        for lap in laps {
            let (slot, stream) = (&mut slots[lap.slot], &streams[lap.slot]);
            let new = stream.clone_htod(&lap.input)?;
            let old = std::mem::replace(&mut slot.data, new);
            slot.map(stream)?;
            stream.memcpy_dtoh(&slot.data, &mut lap.output)?;
            let new = std::mem::replace(&mut slot.data, old);
            drop(new);
        }
        context.synchronize()?;
        Ok(())
    })
}
