//! R80: a measured region is begun inside of another

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let (mut outer, mut inner) = (session.allocate()?, session.allocate()?);
    outer.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            log.note()?;
        }
        inner.region(|_, _| Ok(()))?;
        Ok(stream.synchronize()?)
    })
}
