//! C74: a static whose section has bounds that other files could ask for

use lab::Result;
use lab::first_launch::Session;

#[unsafe(link_section = "linkme_list")]
#[used]
static ENTRY: u64 = 1;

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
