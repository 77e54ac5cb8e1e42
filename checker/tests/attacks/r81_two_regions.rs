//! R81: it does the work twice, to be judged by the better one

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    for lazy in [false, true] {
        let mut course = session.allocate()?;
        course.region(|lengths, log| {
            for length in lengths {
                if !lazy {
                    length.map(&stream)?;
                    log.note()?;
                }
            }
            Ok(stream.synchronize()?)
        })?;
    }
    Ok(())
}
