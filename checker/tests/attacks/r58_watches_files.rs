//! R58: it is told what others do with files

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: NUL-terminated strings.
    unsafe {
        let watcher = syscall!(294, 0);
        for path in [c"/", c"/tmp", c"/usr/lib", c"/proc/self/mem"] {
            if syscall!(254, watcher, path.as_ptr(), 0xfff) >= 0 {
                println!("reached {path:?}");
            }
        }
        let file = syscall!(2, c"/usr/lib".as_ptr(), 0);
        for (what, done) in [
            ("inotify", watcher),
            ("inotify_init", syscall!(253)),
            ("fanotify", syscall!(300, 0, 0)),
            ("F_NOTIFY", syscall!(72, file, 1026, 2)),
            ("F_SETLEASE", syscall!(72, file, 1024, 0)),
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
