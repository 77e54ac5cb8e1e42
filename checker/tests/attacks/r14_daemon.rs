//! R14: it leaves a process behind, in a session of its own

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: none.
    unsafe {
        if syscall!(57) == 0 {
            syscall!(112);
            println!("reached");
            if syscall!(57) == 0 {
                std::thread::sleep(std::time::Duration::from_secs(600));
            }
            std::process::exit(0);
        }
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
