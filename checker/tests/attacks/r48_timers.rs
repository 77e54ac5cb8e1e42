//! R48: timers and signals come as fast as they can

use lab::Result;
use lab::first_launch::Session;

unsafe extern "C" {
    fn setitimer(which: i32, new: *const [i64; 4], old: *mut [i64; 4]) -> i32;
    fn signal(number: i32, action: extern "C" fn(i32)) -> usize;
}

extern "C" fn nothing(_: i32) {}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: the handler does nothing; the times are read.
    unsafe {
        signal(14, nothing);
        setitimer(0, &[0, 100, 0, 100], std::ptr::null_mut());
    }
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
