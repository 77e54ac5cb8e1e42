//! R14: it leaves a process behind, in a session of its own

use lab::Result;
use lab::first_launch::Session;

unsafe extern "C" {
    fn fork() -> i32;
    fn setsid() -> i32;
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: none.
    unsafe {
        if fork() == 0 {
            setsid();
            println!("reached");
            if fork() == 0 {
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
