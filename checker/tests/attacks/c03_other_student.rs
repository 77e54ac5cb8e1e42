//! C03: another student's file is included

use lab::Result;
use lab::first_launch::Session;

const THEIRS: &[u8] = include_bytes!("../../other/first_launch.rs");

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{}", THEIRS.len());
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
