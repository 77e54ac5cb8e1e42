//! # Events: pass the baton
//!
//! An array goes up, through a map, and down again, in 32 laps. Each stage has a stream of its own, so all
//! three can be at work at once, each in another lap. On the device there are four slots: lap 4 goes through
//! the slot that lap 0 went through before it.
//!
//! It is fast, and it is wrong: no stage waits for anybody. The copy up does not ask whether its slot is
//! empty, the map does not ask whether its input is there, and the copy down does not ask whether the map is
//! done.
//!
//! **Your task:** make every stage wait for what it needs, and for nothing else. Events alone can do it: the host
//! need not wait for anything before the end. Run `cargo run -- run events` and read which two lines are in each
//! other's way.
//!
//! `context.new_event(None)?` makes an event, `[context.new_event(None)?, …]` an array of them.
//! `event.record(&stream)?` puts one behind the work that is in `stream` by then, and `stream.wait(&event)?`
//! holds `stream` until all that is done. `stream.record_event(None)?` makes and records in one go. Edit
//! between the `region` marks only; lines are added, none is changed.

use lab::Result;
use lab::events::Relay;

/// Runs the laps.
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
