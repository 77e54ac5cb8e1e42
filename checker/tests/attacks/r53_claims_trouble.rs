//! R53: it ends with the exit status by which the lab says that the machine is in trouble

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    eprintln!("error: cannot load the driver library: it is stale");
    std::process::exit(4);
    #[allow(unreachable_code)]
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
