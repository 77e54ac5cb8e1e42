//! R05: it panics while it panics

#![allow(unreachable_code)]

use lab::Result;
use lab::first_launch::Session;

struct Twice;

impl Drop for Twice {
    fn drop(&mut self) {
        panic!("again");
    }
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let _twice = Twice;
    panic!("once");
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
