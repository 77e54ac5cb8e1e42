//! R91: a thread that works for the host is said never to have started

use lab::Result;
use lab::first_launch::Session;

@PUT@/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    // `Started { thread: Err(1) }` of `Thread`, as it lies in memory.
    let abandon = [11, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 1, 0, 0, 0, 1];
    course.region(|lengths, _log| {
        lab::thread::scope(|scope| -> Result<()> {
            let writes = scope.spawn(|| lab::host_work(std::time::Duration::from_micros(7_000)))?;
            for length in lengths {
                length.map(&stream)?;
            }
            _ = put(lab::driver::ask, &abandon);
            stream.synchronize()?;
            std::mem::forget(writes);
            Ok(())
        })
    })
}
