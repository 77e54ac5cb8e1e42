//! R16: it takes all memory, as memory that is shared

#![allow(unreachable_code)]

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    const CHUNK: usize = 64 << 20;
    loop {
        // SAFETY: what is new is written to.
        unsafe {
            let memory = syscall!(9, 0, CHUNK, 3, 0x21, -1, 0) as *mut u8;
            if memory as isize == -1 {
                std::thread::sleep(std::time::Duration::from_secs(1));
                continue;
            }
            for page in (0..CHUNK).step_by(4096) {
                memory.add(page).write_volatile(1);
            }
        }
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
