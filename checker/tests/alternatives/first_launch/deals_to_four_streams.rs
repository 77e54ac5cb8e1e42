//! The lengths are dealt to four streams, and the host waits for all of them.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let streams =
        (0..4).map(|_| context.new_stream()).collect::<std::result::Result<Vec<_>, _>>()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for (index, length) in lengths.iter_mut().enumerate() {
            length.map(&streams[index % streams.len()])?;
            log.note()?;
        }
        streams.iter().try_for_each(|stream| stream.synchronize())?;
        Ok(())
    })
}
