//! R82: its threads wait for messages that nobody sends

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            log.note()?;
        }
        let (sender, receiver) = lab::thread::channel::<u32>()?;
        _ = receiver.recv();
        drop(sender);
        Ok(stream.synchronize()?)
    })
}
