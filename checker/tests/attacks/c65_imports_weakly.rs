//! C65: a function of the C library, if it is there

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".weak __libc_start_main",
    ".pushsection .data.table,\"aw\",%progbits",
    ".quad __libc_start_main",
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
