//! C25: a library that is not there is to be linked in

use lab::Result;
use lab::first_launch::Session;

#[link(name = "evil", kind = "static")]
unsafe extern "C" {}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
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
