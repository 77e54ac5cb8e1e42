//! The legacy default stream does as well as one of its own.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.default_stream();

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            log.note()?;
        }
        context.synchronize()?;
        Ok(())
    })
}
