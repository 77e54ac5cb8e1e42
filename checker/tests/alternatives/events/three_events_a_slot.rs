//! All events are made before the clock runs, three for each slot.

use cudarc::driver::CudaEvent;
use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    struct Baton {
        uploaded: CudaEvent,
        mapped: CudaEvent,
        emptied: CudaEvent,
    }
    let baton = |_| -> Result<Baton> {
        let [uploaded, mapped, emptied] =
            [context.new_event(None)?, context.new_event(None)?, context.new_event(None)?];
        Ok(Baton { uploaded, mapped, emptied })
    };
    let batons = (0..4).map(baton).collect::<Result<Vec<_>>>()?;

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        for lap in laps {
            let (slot, baton) = (&mut slots[lap.slot], &batons[lap.slot]);
            upload.wait(&baton.emptied)?;
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            baton.uploaded.record(&upload)?;
            compute.wait(&baton.uploaded)?;
            slot.map(&compute)?;
            baton.mapped.record(&compute)?;
            download.wait(&baton.mapped)?;
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            baton.emptied.record(&download)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
