//! R29: it changes environment, folder and mask for whoever comes after it

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: one thread.
    unsafe {
        std::env::set_var("CUDA_VISIBLE_DEVICES", "");
        std::env::set_var("SWIM_PROFILE", "one_engine");
        std::env::set_var("LD_PRELOAD", "evil.so");
        syscall!(95, 0o777);
    }
    _ = std::env::set_current_dir("/");
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
