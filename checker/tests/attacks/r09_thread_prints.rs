//! R09: a thread goes on printing

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    std::thread::spawn(|| {
        loop {
            println!("VERDICT pass");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
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
