//! R11: it sleeps, and listens to no signal

#![allow(unreachable_code)]

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    for number in 1..65 {
        // SAFETY: 1 stands for nothing to be done.
        unsafe { syscall!(13, number, [1_u64, 0, 0, 0].as_ptr(), 0, 8) };
    }
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1000));
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
