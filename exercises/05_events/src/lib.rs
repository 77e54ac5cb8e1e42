//! # Events: pass the baton
//!
//! An array is uploaded, mapped and downloaded again, in 32 iterations, each a `lap` in the code. Each stage has
//! a stream of its own, so all three can work at once, each on another iteration. The device has four buffers,
//! each a `slot`: iteration 4 uses the buffer that iteration 0 used before it.
//!
//! The program is fast, and wrong: no stage waits for another. The copy up does not wait until its buffer is
//! free, the map does not wait until its input is there, and the copy down does not wait until the map is
//! done.
//!
//! **Your task:** make every stage wait for what it needs, and for nothing else. Events alone can do it: the host
//! need not wait for anything before the end. Run `cargo run -- run events` and read which two lines race with
//! each other.
//!
//! `context.new_event(None)?` makes an event, `[context.new_event(None)?, …]` an array of them.
//! `event.record(&stream)?` records it after the work that is in `stream` by then, and `stream.wait(&event)?`
//! makes `stream` wait until all of that is done. `stream.record_event(None)?` makes and records an event in one
//! go. Edit between the `region` marks only; lines are added, none is changed.

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
    // endregion

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        for lap in laps {
            let slot = &mut slots[lap.slot];
            // region: before the copy up
            // endregion
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            // region: before the map
            // endregion
            slot.map(&compute)?;
            // region: before the copy down
            // endregion
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            // region: after the copy down
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })
}
