//! A thread keeps the log, so that it does not matter that the other one waits for each length.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        lab::thread::scope(|scope| {
            let pages = lengths.len();
            let writer = scope.spawn(move || (0..pages).try_for_each(|_| log.note()))?;
            for length in lengths {
                length.map(&stream)?;
                stream.synchronize()?;
            }
            writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
