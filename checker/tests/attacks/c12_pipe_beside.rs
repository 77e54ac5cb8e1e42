//! C12: a named pipe beside the file is to keep the compiler waiting

use lab::Result;
use lab::first_launch::Session;

const PIPE: &str = include_str!("pipe");

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{PIPE}");
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
