//! C32: `write` and `free` are replaced

use lab::Result;
use lab::first_launch::Session;

#[unsafe(no_mangle)]
pub extern "C" fn write(_: i32, _: *const u8, bytes: usize) -> isize {
    bytes as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn free(_: *mut u8) {}

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
