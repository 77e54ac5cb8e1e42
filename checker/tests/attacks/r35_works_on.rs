//! R35: a thread goes on when the function has returned

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    let done = course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    });
    std::thread::spawn(|| {
        let mut n = 0_u64;
        loop {
            n = std::hint::black_box(n + 1);
        }
    });
    done
}
