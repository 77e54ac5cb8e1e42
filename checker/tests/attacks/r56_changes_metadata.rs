//! R56: it changes modes, owners, times and attributes of whatever it can name

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let program = std::env::args().next().unwrap_or_default();
    let driver = std::env::var("SWIM_DRIVER").unwrap_or_default();
    for path in ["/", "/tmp", "/usr/lib", "/proc/self/mem", "@WORKSPACE@", "@WORKSPACE@/Cargo.toml", &program, &driver] {
        let name = std::ffi::CString::new(path).unwrap_or_default();
        let at = name.as_ptr();
        // SAFETY: NUL-terminated strings, and bytes of our own.
        unsafe {
            for (what, done) in [
                ("chmod", syscall!(90, at, 0o777)),
                ("fchmodat", syscall!(268, -100, at, 0o777)),
                ("fchmodat2", syscall!(452, -100, at, 0o777, 0)),
                ("chown", syscall!(92, at, 0, 0)),
                ("lchown", syscall!(94, at, -1, -1)),
                ("fchownat", syscall!(260, -100, at, -1, -1, 0)),
                ("utime", syscall!(132, at, 0)),
                ("utimes", syscall!(235, at, 0)),
                ("futimesat", syscall!(261, -100, at, 0)),
                ("utimensat", syscall!(280, -100, at, 0, 0)),
                ("setxattr", syscall!(188, at, c"user.a".as_ptr(), c"x".as_ptr(), 1, 0)),
                ("lsetxattr", syscall!(189, at, c"user.a".as_ptr(), c"x".as_ptr(), 1, 0)),
                ("removexattr", syscall!(197, at, c"user.a".as_ptr())),
                ("truncate", syscall!(76, at, 0)),
            ] {
                if done >= 0 {
                    println!("reached {what} {path}");
                }
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
