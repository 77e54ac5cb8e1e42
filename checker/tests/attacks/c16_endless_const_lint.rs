//! C16: a constant takes for ever

use lab::Result;
use lab::first_launch::Session;

const FOREVER: u64 = {
    let mut n = 0_u64;
    loop {
        n = n.wrapping_mul(3).wrapping_add(1);
    }
};

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    println!("{FOREVER}");
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
