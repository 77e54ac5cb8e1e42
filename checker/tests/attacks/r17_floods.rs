//! R17: it prints without end

#![allow(unreachable_code)]

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    use std::io::Write as _;
    let line = "many words ".repeat(10_000);
    loop {
        _ = std::io::stdout().write_all(line.as_bytes());
        _ = std::io::stderr().write_all(line.as_bytes());
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
