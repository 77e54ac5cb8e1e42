//! C43: safe code writes to its own memory through `/proc`

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let memory = std::fs::OpenOptions::new().write(true).open("/proc/self/mem");
    println!("{}", if memory.is_ok() { "it was written" } else { "denied" });
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
