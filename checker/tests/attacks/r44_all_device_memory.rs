//! R44: it takes all memory of the device

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let taker = session.context();
    let streams = taker.new_stream()?;
    let mut hoard = Vec::new();
    while let Ok(block) = streams.alloc_zeros::<u8>(8 << 30) {
        hoard.push(block);
        if hoard.len() > 1000 {
            break;
        }
    }
    println!("{} blocks", hoard.len());
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
