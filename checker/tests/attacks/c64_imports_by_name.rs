//! C64: functions are to be looked up by their names

use lab::Result;
use lab::first_launch::Session;

unsafe extern "C" {
    fn dlsym(library: *mut u8, name: *const i8) -> *mut u8;
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: a NUL-terminated string.
    println!("{:?}", unsafe { dlsym(std::ptr::null_mut(), c"swim_call".as_ptr().cast()) });
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
