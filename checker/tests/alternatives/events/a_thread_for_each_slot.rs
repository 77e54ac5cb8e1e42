//! Four threads with every fourth lap each.

use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        let mut shares: [Vec<_>; 4] = Default::default();
        for lap in laps {
            shares[lap.slot].push(lap);
        }
        lab::thread::scope(|scope| {
            let mut swimmers = Vec::new();
            for (share, slot) in shares.into_iter().zip(slots) {
                let stream = context.new_stream()?;
                swimmers.push(scope.spawn(move || -> Result<()> {
                    for lap in share {
                        stream.memcpy_htod(&lap.input, &mut slot.data)?;
                        slot.map(&stream)?;
                        stream.memcpy_dtoh(&slot.data, &mut lap.output)?;
                    }
                    Ok(stream.synchronize()?)
                })?);
            }
            for swimmer in swimmers {
                swimmer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(())
        })
    })
}
