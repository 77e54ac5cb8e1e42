//! C01: the compiler is asked for `/etc/passwd`

use lab::Result;
use lab::first_launch::Session;

const SECRET: &str = include_str!("/etc/passwd");

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{SECRET}");
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
