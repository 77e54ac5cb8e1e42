//! C17: a static of 256 GiB of zeros

use lab::Result;
use lab::first_launch::Session;

static HUGE: [u8; 1 << 38] = [0; 1 << 38];

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
