//! C10: a file without end is included

use lab::Result;
use lab::first_launch::Session;

const ZEROS: &[u8] = include_bytes!("/dev/zero");

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{}", ZEROS.len());
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
