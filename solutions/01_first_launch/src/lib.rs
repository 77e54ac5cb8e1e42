//! The solution of `first_launch`: the host asks for everything, and waits once.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for length in lengths {
            // region: before a launch
            // endregion
            length.map(&stream)?;
            // region: after a launch
            // endregion
            log.note()?;
        }
        // region: after the loop
        stream.synchronize()?;
        // endregion
        Ok(())
    })
}
