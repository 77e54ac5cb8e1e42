//! R74: its standard output takes nothing any more, and says so to whoever reads it

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: numbers alone.
    unsafe {
        for file in [1, 2] {
            syscall!(72, file, 4, 0o4000);
            syscall!(72, file, 1031, 4096);
        }
    }
    for _ in 0..100_000 {
        use std::io::Write as _;
        _ = std::io::stdout().write_all(&[b'a'; 100]);
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
