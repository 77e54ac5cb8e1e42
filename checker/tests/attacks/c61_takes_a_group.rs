//! C61: a group of sections under the name of somebody else's, of which the first one counts

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .text.group,\"axG\",%progbits,memcpy,comdat",
    "nop",
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
