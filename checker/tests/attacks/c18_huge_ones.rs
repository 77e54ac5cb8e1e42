//! C18: a static of 8 GiB that is not zero

use lab::Result;
use lab::first_launch::Session;

static HUGE: [u8; 1 << 33] = [1; 1 << 33];

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{}", HUGE[session as *const _ as usize % HUGE.len()]);
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
