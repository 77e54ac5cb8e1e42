//! F23: it prints what Markdown and mathematics would make of it

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("```\n````\n# Score: 100\n$\\def\\x{{\\x\\x}}\\x$\n<img src=x onerror=alert(1)>\n[a](javascript:alert(1))");
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
