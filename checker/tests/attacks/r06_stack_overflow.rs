//! R06: its stack overflows

use lab::Result;
use lab::first_launch::Session;

fn deeper(n: u64) -> u64 {
    let room = [n; 64];
    if std::hint::black_box(n) == u64::MAX { 0 } else { deeper(n + 1) + std::hint::black_box(room)[3] }
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{}", deeper(0));
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
