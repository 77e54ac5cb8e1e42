//! Memory is allocated and freed between the launches, in the order of another stream.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let notes = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            let page = notes.alloc_zeros::<u32>(1024)?;
            log.note()?;
            drop(page);
        }
        stream.synchronize()?;
        notes.synchronize()?;
        Ok(())
    })
}
