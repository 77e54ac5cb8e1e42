//! R93: the first thread says of itself that it never started, and another goes on to the end of the region

use lab::Result;
use lab::first_launch::Session;

@PUT@/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    // `Started { thread: Err(0) }` of `Thread` and `RegionEnd`, as they lie in memory.
    let never_started = [11, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 1];
    let end_region = [5, 0, 0, 0, 0, 0, 0, 0x80];
    course.region(|lengths, _log| {
        lab::thread::scope(|scope| -> Result<()> {
            let swims = scope.spawn(|| {
                for length in lengths {
                    _ = length.map(&stream);
                }
                _ = stream.synchronize();
                _ = put(lab::driver::ask, &end_region);
                std::process::exit(0);
            })?;
            lab::host_work(std::time::Duration::from_micros(7_000))?;
            _ = put(lab::driver::ask, &never_started);
            _ = swims.join();
            Ok(())
        })
    })
}
