//! R62: it ends itself by a signal that nobody can catch

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: no memory is involved.
    unsafe { syscall!(62, std::process::id(), 9) };
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
