//! A stream for each of the 32 parts.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use lab::Result;
use lab::two_streams::Jobs;

/// Does both jobs.
pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let streams = || -> std::result::Result<Vec<Arc<CudaStream>>, DriverError> {
        (0..16).map(|_| context.new_stream()).collect()
    };
    let (uploads, computes) = (streams()?, streams()?);

    let mut course = jobs.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|fresh, resident| {
        for (part, stream) in fresh.iter_mut().zip(&uploads) {
            stream.memcpy_htod(&part.host, &mut part.device)?;
        }
        for (part, stream) in resident.iter_mut().zip(&computes) {
            part.map(stream)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
