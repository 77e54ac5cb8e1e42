//! R50: it writes to the memory that it shares with the device process

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let file: i32 = std::env::var("SWIM_MACHINE").ok().and_then(|it| it.parse().ok()).unwrap_or(-1);
    for (length, turn) in [(u32::MAX, 1), (1 << 20, 1), (3, 1), (0, 0), (7, 99)] {
        // SAFETY: the memory is shared with the device process, and longer than what is written.
        unsafe {
            let memory = syscall!(9, 0, 1 << 21, 3, 1, file, 0) as *mut u8;
            if memory as isize == -1 {
                break;
            }
            for at in 4096..1 << 20 {
                memory.add(at).write_volatile(0xff);
            }
            memory.cast::<u32>().add(1).write_volatile(length);
            memory.cast::<u32>().write_volatile(turn);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
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
