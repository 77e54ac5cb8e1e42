//! The host waits for the device when a page has been written: both worked meanwhile.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for lengths in lengths.chunks_mut(8) {
            for length in lengths {
                length.map(&stream)?;
                log.note()?;
            }
            stream.synchronize()?;
        }
        Ok(())
    })
}
