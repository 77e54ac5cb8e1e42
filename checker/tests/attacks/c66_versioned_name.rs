//! C66: a name with a version of the C library's

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".text",
    ".globl own_copy",
    "own_copy:",
    "ret",
    ".symver own_copy, memcpy@BYTE 40@@BYTE 40@@BYTE 40@GLIBC_2.14",
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
