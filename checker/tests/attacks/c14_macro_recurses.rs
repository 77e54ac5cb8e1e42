//! C14: a macro calls itself for ever

#![recursion_limit = "4294967295"]

use lab::Result;
use lab::first_launch::Session;

macro_rules! deeper {
    ($($token:tt)*) => {
        deeper!($($token)* 1)
    };
}

deeper!();

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
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
