//! R70: a thread takes the turn from both sides all the time

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let file: i32 = std::env::var("SWIM_MACHINE").ok().and_then(|it| it.parse().ok()).unwrap_or(-1);
    // SAFETY: the memory is shared with the device process, and longer than what is written.
    let memory = unsafe { syscall!(9, 0, 1 << 21, 3, 1, file, 0) } as usize;
    std::thread::spawn(move || {
        for turn in [0_u32, 1, 0, 3, 1, 0xffff_ffff].into_iter().cycle() {
            // SAFETY: as above.
            unsafe { (memory as *mut u32).write_volatile(turn) };
        }
    });
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
