//! Memory for all laps, swapped into the slots: nobody has to wait for a slot to be empty.

use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let mut places = Vec::new();

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        let elements = slots[0].data.len();
        for _ in 0..laps.len() {
            // SAFETY: the copy up writes all of it before anything reads it.
            places.push(unsafe { upload.alloc::<u32>(elements)? });
        }
        for (lap, place) in laps.iter_mut().zip(&mut places) {
            let slot = &mut slots[lap.slot];
            std::mem::swap(&mut slot.data, place);
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            compute.join(&upload)?;
            slot.map(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
