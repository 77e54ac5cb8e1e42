//! C51: a variable of the C library gets its memory here

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".comm environ, 8, 8",
);

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
