//! The baseline of `peers`: over the link, and one thing after the other on each device. Correct, and nothing overlaps.

use lab::Result;
use lab::peers::{Ring, STEPS};

fn send_round(ring: &Ring) -> Result<()> {
    let [first, second] = ring.contexts();
    ring.allow_access()?;
    let streams = [first.new_stream()?, second.new_stream()?];
    let mut session = ring.allocate()?;
    session.region(|left, right| {
        for step in 0..STEPS {
            let (here, there) = (step % 2, (step + 1) % 2);
            left.edge(&streams[0], here)?;
            right.edge(&streams[1], here)?;
            streams[0].join(&streams[1])?;
            streams[1].join(&streams[0])?;
            streams[0].memcpy_dtod(&right.edges[here], &mut left.edges[there])?;
            streams[1].memcpy_dtod(&left.edges[here], &mut right.edges[there])?;
            left.inside(&streams[0])?;
            right.inside(&streams[1])?;
        }
        first.synchronize()?;
        second.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(send_round)
}
