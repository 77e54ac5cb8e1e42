//! Down into pinned memory, and up again.

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
    let mut host = [0, 1].map(|_| {
        let words = 1 << 18; // 32 MiB on the simulated device
        lab::HostBlock::new(first, lab::HostMemory::Pinned, words)
    });
    let mut session = ring.allocate()?;

    // The clock runs from here to the end of the closure.
    session.region(|left, right| {
        for step in 0..STEPS {
            let (here, there) = (step % 2, (step + 1) % 2);
            // region: a step
            left.edge(&compute[0], here)?;
            right.edge(&compute[1], here)?;

            // Each device fetches the edge of the other, once that has been worked on.
            let [a, b] = &mut host;
            let (Ok(a), Ok(b)) = (a, b) else { continue };
            let back = [travel[0].clone(), travel[1].clone()];
            back[0].join(&compute[0])?;
            back[1].join(&compute[1])?;
            back[0].memcpy_dtoh(&left.edges[here], a)?;
            back[1].memcpy_dtoh(&right.edges[here], b)?;
            let down = [back[0].record_event(None)?, back[1].record_event(None)?];
            travel[0].wait(&down[1])?;
            travel[1].wait(&down[0])?;
            travel[0].memcpy_htod(b, &mut left.edges[there])?;
            travel[1].memcpy_htod(a, &mut right.edges[there])?;
            // The next downloads go into the same memory.
            let up = [travel[0].record_event(None)?, travel[1].record_event(None)?];
            travel[0].wait(&up[1])?;
            travel[1].wait(&up[0])?;

            left.inside(&compute[0])?;
            right.inside(&compute[1])?;

            // The next step works on what has arrived.
            compute[0].join(&travel[0])?;
            compute[1].join(&travel[1])?;
            // endregion
        }
        first.synchronize()?;
        second.synchronize()?;
        Ok(())
    })
}
