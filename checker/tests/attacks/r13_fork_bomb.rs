//! R13: it makes processes without end

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    for _ in 0..10_000 {
        // SAFETY: none.
        if unsafe { syscall!(57) } >= 0 {
            println!("reached");
        }
    }
    if std::process::Command::new("/bin/sh").arg("-c").arg(":").spawn().is_ok() {
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
