//! C52: a function of the C library is to be at an address without memory

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".globl abort",
    ".set abort, 0",
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
