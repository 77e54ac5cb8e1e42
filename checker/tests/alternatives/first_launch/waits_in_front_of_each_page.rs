//! The host waits before it writes a page: eight launches at a time, and still they take turns.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for (index, length) in lengths.iter_mut().enumerate() {
            length.map(&stream)?;
            if index % 8 == 7 {
                stream.synchronize()?;
            }
            log.note()?;
        }
        Ok(())
    })
}
