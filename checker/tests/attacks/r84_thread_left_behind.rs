//! R84: host work is declared in a thread that is never joined

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in &mut *lengths {
            length.map(&stream)?;
        }
        let thread = lab::thread::spawn(|| lab::host_work(std::time::Duration::from_millis(60)))?;
        std::mem::forget(thread);
        for _ in 0..64 {
            log.note()?;
        }
        Ok(stream.synchronize()?)
    })
}
