//! C50: a function is exported as one of another crate's

use lab::Result;
use lab::first_launch::Session;

#[unsafe(export_name = "_RNvCs1_3lab9host_work")]
pub extern "C" fn host_work() {}

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
