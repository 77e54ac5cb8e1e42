//! C72: a section of which linkers keep the first with its name

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .gnu.linkonce.t.memcpy,\"ax\",%progbits",
    "ret",
    ".popsection",
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
