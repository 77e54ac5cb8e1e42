//! C13: a macro doubles until memory is full

#![recursion_limit = "100000"]

use lab::Result;
use lab::first_launch::Session;

macro_rules! double {
    ($($token:tt)*) => {
        double!($($token)* $($token)*)
    };
}

fn never() -> u64 {
    double!(1 +)
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    if std::env::args().count() > 9 {
        println!("{}", never());
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
