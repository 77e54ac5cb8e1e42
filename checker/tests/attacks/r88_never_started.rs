//! R88: the first thread does all the host's work at once, and another says that it never started, and ends the
//! region

use lab::Result;
use lab::first_launch::Session;

@PUT@/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // `Spawn`, `Start { thread: 1 }` and `Started { thread: Err(0) }` of `Thread`, and `RegionEnd`.
    let spawn = [11, 0, 0, 0, 0, 0, 0, 0x80, 0];
    let start = [11, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0, 1];
    let abandon_first = [11, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 1];
    let end_region = [5, 0, 0, 0, 0, 0, 0, 0x80];
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, _log| {
        std::thread::scope(|scope| {
            _ = put(lab::driver::ask, &spawn);
            scope.spawn(|| {
                _ = put(lab::driver::ask, &start);
                for length in lengths {
                    _ = length.map(&stream);
                }
                _ = stream.synchronize();
                _ = put(lab::driver::ask, &abandon_first);
                _ = put(lab::driver::ask, &end_region);
                std::process::exit(0);
            });
            lab::host_work(std::time::Duration::from_micros(7_000))
        })
    })
}
