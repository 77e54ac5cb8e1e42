//! exercise: first_launch
//! gate: none
//! says: score
//! cases: 1 2 4 8 16 32
//!
//! So many host threads share the work of the log, and the first thread drives the device. They have one core between
//! them: more of them gain nothing. With a core for each, 32 threads did it in the time of one page.

use std::time::Duration;

use lab::Result;
use lab::first_launch::Session;

const THREADS: u32 = __CASE__;

/// What all pages take: the host's work in the record of the reference.
const ALL_PAGES: Duration = Duration::from_nanos(5_349_120);

pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, _log| {
        lab::thread::scope(|scope| -> Result<()> {
            let mut writers = Vec::new();
            for _ in 0..THREADS {
                writers.push(scope.spawn(|| lab::host_work(ALL_PAGES / THREADS))?);
            }
            for length in lengths {
                length.map(&stream)?;
                stream.synchronize()?;
            }
            for writer in writers {
                _ = writer.join();
            }
            Ok(())
        })
    })
}
