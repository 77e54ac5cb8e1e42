//! R87: all pinned memory there is, written by both sides

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let maker = session.context();
    let mut kept = Vec::new();
    // SAFETY: it is written before it is read.
    while let Ok(mut block) = unsafe { maker.alloc_pinned::<u8>(64 << 20) } {
        block.as_mut_slice()?.fill(1);
        kept.push(block);
    }
    println!("{} blocks", kept.len());
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
