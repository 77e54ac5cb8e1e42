//! R26: it makes the first process of its namespace end with status 0

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // ptrace(PTRACE_ATTACH) of x86-64.
    // SAFETY: no memory is involved.
    if unsafe { syscall!(101, 16, 1, 0, 0) } == 0 {
        println!("reached");
    }
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
