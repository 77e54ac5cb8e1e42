//! C09: the grader's environment is asked for secrets

use lab::Result;
use lab::first_launch::Session;

const SEED: Option<&str> = option_env!("SECRET_SEED");

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{SEED:?} {:?}", std::env::var("SECRET_SEED"));
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
