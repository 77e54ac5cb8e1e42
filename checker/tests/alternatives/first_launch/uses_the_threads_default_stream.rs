//! The default stream of the thread does as well as one of its own.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.per_thread_stream();

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            log.note()?;
        }
        stream.synchronize()?;
        Ok(())
    })
}
