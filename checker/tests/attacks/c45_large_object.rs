//! C45: a library larger than files may be

use lab::Result;
use lab::first_launch::Session;

static LARGE: [u8; 600 << 20] = [1; 600 << 20];

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{}", LARGE[session as *const _ as usize % LARGE.len()]);
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
