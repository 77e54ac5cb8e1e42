//! C19: a hundred thousand parentheses

use lab::Result;
use lab::first_launch::Session;

const ONE: u32 = @REPEAT 100000 (@1@REPEAT 100000 )@;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{ONE}");
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
