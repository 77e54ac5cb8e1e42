//! Joins in place of events with names: each makes one, records it and waits for it.

use std::collections::VecDeque;

use cudarc::driver::CudaEvent;
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
        // Behind the last copies down, the oldest in front.
        let mut emptied: VecDeque<CudaEvent> = VecDeque::new();
        for lap in laps {
            let slot = &mut slots[lap.slot];
            if emptied.len() == 4
                && let Some(event) = emptied.pop_front()
            {
                upload.wait(&event)?;
            }
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            compute.join(&upload)?;
            slot.map(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            emptied.push_back(download.record_event(None)?);
        }
        download.synchronize()?;
        Ok(())
    })
}
