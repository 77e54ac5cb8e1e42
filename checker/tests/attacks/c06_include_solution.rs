//! C06: what lies in the workspace is included as an expression

use lab::Result;
use lab::first_launch::Session;

const HIDDEN: &str = include_str!("@WORKSPACE@/exercises/01_first_launch/recorded/reference.json");

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{HIDDEN}");
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
