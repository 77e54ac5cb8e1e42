//! C20: types that grow for ever

#![recursion_limit = "4294967295"]

use lab::Result;
use lab::first_launch::Session;

fn grow<T>(depth: u64, value: T) {
    if depth > 0 {
        grow(depth - 1, Some(value));
    }
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    grow(1, 1_u8);
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
