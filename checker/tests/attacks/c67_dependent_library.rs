//! C67: the object file names a library for the linker

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .deplibs,\"MS\",%llvm_dependent_libraries,1",
    ".asciz \"resolv\"",
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
