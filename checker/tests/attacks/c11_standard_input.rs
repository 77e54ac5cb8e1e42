//! C11: the compiler is to wait for standard input

use lab::Result;
use lab::first_launch::Session;

const INPUT: &str = include_str!("/proc/self/fd/0");
const MORE: &str = include_str!("/dev/stdin");

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{INPUT}{MORE}");
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
