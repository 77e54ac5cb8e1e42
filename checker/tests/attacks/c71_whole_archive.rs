//! C71: the file as a library of objects, of which all are linked in

use lab::Result;
use lab::first_launch::Session;

#[link(name = "lib.rs", kind = "static", modifiers = "+verbatim,+whole-archive,-bundle")]
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
