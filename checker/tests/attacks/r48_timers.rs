//! R48: timers and signals come as fast as they can

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

extern "C" fn nothing(_: i32) {}

#[unsafe(naked)]
extern "C" fn restore() {
    std::arch::naked_asm!("mov eax, 15", "syscall")
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: the handler does nothing; the times are read.
    unsafe {
        let action = [nothing as usize, 0x0400_0000, restore as usize, 0];
        syscall!(13, 14, action.as_ptr(), 0, 8);
        syscall!(38, 0, [0_i64, 100, 0, 100].as_ptr(), 0);
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
