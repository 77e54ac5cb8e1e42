//! R12: it waits for input, and then for itself

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let mut line = String::new();
    _ = std::io::stdin().read_line(&mut line);
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    _ = receiver.recv();
    drop(sender);
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
