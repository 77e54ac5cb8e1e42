//! R75: it takes away its own limits until nothing works

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    // SAFETY: a structure of two numbers, which is read.
    unsafe {
        for limit in 0..16 {
            let wanted = if limit == 9 { [u64::MAX, u64::MAX] } else { [1_u64, 1] };
            if syscall!(160, limit, wanted.as_ptr()) >= 0 && limit == 9 && wanted[0] == u64::MAX {
                println!("reached a higher limit");
            }
        }
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
