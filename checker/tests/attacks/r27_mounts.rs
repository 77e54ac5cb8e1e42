//! R27: it mounts, and makes namespaces, roots and devices

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: strings that end with NUL.
    unsafe {
        for (name, done) in [
            ("unshare", syscall!(272, 0x1000_0000)),
            ("mount", syscall!(165, c"tmpfs".as_ptr(), c"/tmp".as_ptr(), c"tmpfs".as_ptr(), 0, 0)),
            ("chroot", syscall!(161, c"/".as_ptr())),
            ("mknod", syscall!(133, c"/tmp/device".as_ptr(), 0o20666, 0x103)),
            ("pivot_root", syscall!(155, c"/".as_ptr(), c"/tmp".as_ptr())),
            ("setns", syscall!(308, 3, 0)),
        ] {
            if done == 0 {
                println!("reached {name}");
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
