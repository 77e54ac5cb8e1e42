//! C21: twenty thousand warnings

use lab::Result;
use lab::first_launch::Session;

fn noisy() {
    @REPEAT 20000 {let a=1;}
@
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    noisy();
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
