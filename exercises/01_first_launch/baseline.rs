//! The baseline of `first_launch`: the host waits for each length before it goes on. Correct, and either the
//! host or the device stands still.

use lab::Result;
use lab::first_launch::Session;

fn train(session: &Session) -> Result<()> {
    let stream = session.context().new_stream()?;
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

fn main() -> std::process::ExitCode {
    lab::exercise!(train)
}
