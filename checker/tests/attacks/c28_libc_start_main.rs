//! C28: what the C library does before `main` is replaced

use lab::Result;
use lab::first_launch::Session;

#[unsafe(no_mangle)]
pub extern "C" fn __libc_start_main() -> i32 {
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
