//! C63: a function of the C library is called by its name

use lab::Result;
use lab::first_launch::Session;

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: the number of the process.
    println!("{}", unsafe { syscall(39) });
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
