//! F21: it prints what a terminal would obey

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[1;1Hpassed");
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
