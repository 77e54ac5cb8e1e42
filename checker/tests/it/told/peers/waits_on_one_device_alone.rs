//! One device waits for its edge, and the other one does not.

use lab::Result;
use lab::peers::{Ring, STEPS};

/// Sends the edges round.
pub fn send_round(ring: &Ring) -> Result<()> {
    let [first, second] = ring.contexts();
    // region: access
    ring.allow_access()?;
    // endregion
    let streams = [
        [first.new_stream()?, second.new_stream()?],
        // region: streams
        [first.new_stream()?, second.new_stream()?],
        // endregion
    ];
    // With one pair of streams, the edges share it with everything else.
    let (compute, travel) = (&streams[0], &streams[1 % streams.len()]);
    let mut session = ring.allocate()?;

    // The clock runs from here to the end of the closure.
    session.region(|left, right| {
        for step in 0..STEPS {
            let (here, there) = (step % 2, (step + 1) % 2);
            // region: a step
            left.edge(&compute[0], here)?;
            right.edge(&compute[1], here)?;

            // Each device fetches the edge of the other, once that has been worked on.
            travel[0].join(&compute[1])?;
            travel[1].join(&compute[0])?;
            travel[0].memcpy_dtod(&right.edges[here], &mut left.edges[there])?;
            travel[1].memcpy_dtod(&left.edges[here], &mut right.edges[there])?;

            left.inside(&compute[0])?;
            right.inside(&compute[1])?;

            // The next step works on what has arrived.
            compute[0].join(&travel[0])?;
            // endregion
        }
        first.synchronize()?;
        second.synchronize()?;
        Ok(())
    })
}
