//! The host runs a page ahead of the device and no further: before it asks for a page it waits for the last
//! but one.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let written = [context.new_event(None)?, context.new_event(None)?];

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for (page, lengths) in lengths.chunks_mut(8).enumerate() {
            // Never recorded at first: then this waits for nothing.
            written[page % 2].synchronize()?;
            for length in lengths {
                length.map(&stream)?;
                log.note()?;
            }
            written[page % 2].record(&stream)?;
        }
        stream.synchronize()?;
        Ok(())
    })
}
