//! C69: a symbol of which the loader keeps one in the whole process

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .data.unique,\"aw\",%progbits",
    ".globl _RNvCs1_12first_launch3one",
    ".type _RNvCs1_12first_launch3one, %gnu_unique_object",
    "_RNvCs1_12first_launch3one:",
    ".quad 0",
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
