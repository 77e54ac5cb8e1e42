//! # Peer copies: between two pools
//!
//! Two devices have a shard each: an inside, which stays where it is, and an edge. In each step, a kernel works on the edge
//! and a longer one on the inside, and then the devices swap their edges: what was made of one is what the other one works on
//! next. There is room for two edges on each device, so a copy does not overwrite what is still needed.
//!
//! The result is right, but the copies take almost five times as long as the kernels, and nothing runs beside them.
//!
//! **Your task:** hide the copies. Let the edges take the short way, and let them travel while the insides are worked on. Run
//! `cargo run -- run peers` and look at the rows of both devices.
//!
//! cudarc allocates memory from a pool, and no other device may use a pool unless that was allowed: `ring.allow_access()?`.
//! `stream.join(&other)?` lets `stream` wait for what is in `other` so far, whatever devices they are on. Edit between the
//! `region` marks only; lines are added and moved, none is changed.

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
            compute[1].join(&travel[1])?;
            // endregion
        }
        first.synchronize()?;
        second.synchronize()?;
        Ok(())
    })
}
