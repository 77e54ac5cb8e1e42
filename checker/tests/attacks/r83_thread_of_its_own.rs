//! R83: a thread that the lab does not know makes the calls that take time

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
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..64 {
                    _ = log.note();
                }
            });
        });
        Ok(stream.synchronize()?)
    })
}
