//! R65: it refuses itself the system calls by which programs end

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // `exit_group` and `exit` come back with an error; everything else is allowed.
    let code: [u64; 5] = [
        0x20, 0xe7_0001_0015 | (1 << 16), 0x3c_0000_0015 | (1 << 24), 0x0005_0001_0000_0006, 0x7fff_0000_0000_0006,
    ];
    let program = [code.len() as u64, code.as_ptr() as u64];
    // SAFETY: a program of so many instructions.
    unsafe {
        syscall!(157, 38, 1, 0, 0, 0);
        syscall!(157, 22, 2, program.as_ptr());
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
