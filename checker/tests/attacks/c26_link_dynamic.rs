//! C26: a function of a library that is not there is called

use lab::Result;
use lab::first_launch::Session;

#[link(name = "evil")]
unsafe extern "C" {
    fn evil() -> u32;
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: none.
    println!("{}", unsafe { evil() });
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
