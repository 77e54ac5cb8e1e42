//! R59: it goes to folders outside, and locks what others read

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let program = std::env::args().next().unwrap_or_default();
    let program = std::ffi::CString::new(program).unwrap_or_default();
    // SAFETY: NUL-terminated strings, and a structure that says: all of the file.
    unsafe {
        for path in [c"/", c"/tmp", c"/usr", c"@WORKSPACE@"] {
            if syscall!(80, path.as_ptr()) >= 0 {
                println!("reached {path:?}");
            }
        }
        let file = syscall!(2, program.as_ptr(), 0);
        let whole = [0_u64; 4];
        for (what, done) in [
            ("flock", syscall!(73, file, 1)),
            ("F_SETLK", syscall!(72, file, 6, whole.as_ptr())),
            ("F_OFD_SETLK", syscall!(72, file, 37, whole.as_ptr())),
        ] {
            if done >= 0 {
                println!("reached {what}");
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
