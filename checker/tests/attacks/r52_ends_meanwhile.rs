//! R52: it ends while the device process answers

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        std::process::exit(0);
    });
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    })
}
