//! First all launches, then the log.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        lengths.iter_mut().try_for_each(|length| length.map(&stream))?;
        for _ in lengths.iter() {
            log.note()?;
        }
        stream.synchronize()?;
        Ok(())
    })
}
