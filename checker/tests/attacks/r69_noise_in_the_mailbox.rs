//! R69: a thread writes noise over the messages while calls go on

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let file: i32 = std::env::var("SWIM_MACHINE").ok().and_then(|it| it.parse().ok()).unwrap_or(-1);
    // SAFETY: the memory is shared with the device process, and longer than what is written.
    let memory = unsafe { syscall!(9, 0, 1 << 21, 3, 1, file, 0) } as usize;
    std::thread::spawn(move || {
        let mut noise = 88_172_645_463_325_252_u64;
        loop {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            let at = memory + 4096 + (noise >> 32) as usize % 64;
            // SAFETY: as above.
            unsafe { (at as *mut u8).write_volatile(noise as u8) };
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
