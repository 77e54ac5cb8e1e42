//! R72: its process has a name that looks like another line of what the kernel says of it

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: NUL-terminated strings.
    unsafe {
        syscall!(157, 15, c") R 1 (\nPPid:\t1\nThr".as_ptr());
    }
    let threads: Vec<_> = (0..20)
        .map(|_| std::thread::Builder::new().name(") Z 1\nThreads: 0".to_owned()).spawn(|| ()))
        .collect();
    println!("{} threads", threads.len());
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
