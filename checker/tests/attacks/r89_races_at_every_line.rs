//! R89: two thousand races, each at lines of its own, to fill the row

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let (first, second) = (context.new_stream()?, context.new_stream()?);
    let mut course = session.allocate()?;
    course.region(|lengths, _log| {
@REPEAT 2000         _ = lengths[0].map(&first);
        _ = lengths[0].map(&second);
@        Ok(context.synchronize()?)
    })
}
