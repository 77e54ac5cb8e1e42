//! exercise: two_streams
//! gate: output
//! says: the measured region ended 2 times, not 1
//!
//! The first one is slow, the second one is fast.

use lab::Result;
use lab::two_streams::Jobs;

pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    for _ in 0..2 {
        let streams = [context.new_stream()?, context.new_stream()?];
        jobs.allocate()?.region(|fresh, resident| {
            for part in fresh {
                streams[0].memcpy_htod(&part.host, &mut part.device)?;
            }
            for part in resident {
                part.map(&streams[1])?;
            }
            context.synchronize()?;
            Ok(())
        })?;
    }
    Ok(())
}
