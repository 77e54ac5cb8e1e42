//! R66: streams and events without end

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let maker = session.context();
    let mut kept = Vec::new();
    loop {
        kept.push((maker.new_stream()?, maker.new_event(None)?));
    }
    #[allow(unreachable_code)]
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    })
}
