//! R11: it sleeps, and listens to no signal

#![allow(unreachable_code)]

use lab::Result;
use lab::first_launch::Session;

unsafe extern "C" {
    fn signal(number: i32, action: usize) -> usize;
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    for number in 1..65 {
        // SAFETY: 1 stands for nothing to be done.
        unsafe { signal(number, 1) };
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
