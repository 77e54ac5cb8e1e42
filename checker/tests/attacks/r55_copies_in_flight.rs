//! R55: copies on the device that run at the same time, each with data of its own on the way

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let hoard = session.context();
    let block = hoard.default_stream().alloc_zeros::<u32>(128 << 20)?;
    let from = block.slice(64 << 20..);
    let mut to = hoard.default_stream().alloc_zeros::<u32>(64 << 20)?;
    let streams = (0..14).map(|_| hoard.new_stream()).collect::<std::result::Result<Vec<_>, _>>()?;
    for stream in &streams {
        stream.memcpy_dtod(&from, &mut to)?;
    }
    hoard.synchronize()?;
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
