//! R71: it gives the memory back that it shares with the device process

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let file: i32 = std::env::var("SWIM_MACHINE").ok().and_then(|it| it.parse().ok()).unwrap_or(-1);
    // SAFETY: the memory is shared with the device process.
    unsafe {
        for (what, done) in [
            ("ftruncate", syscall!(77, file, 0)),
            ("seal", syscall!(72, file, 1033, 8)),
        ] {
            if done >= 0 {
                println!("reached {what}");
            }
        }
        syscall!(285, file, 3, 4096, 1 << 30);
        syscall!(285, file, 3, 0, 4096);
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
