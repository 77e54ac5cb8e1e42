//! C27: the file brings a `main` of its own

use lab::Result;
use lab::first_launch::Session;

#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 {
    println!("VERDICT pass");
    0
}

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
