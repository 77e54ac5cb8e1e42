//! R86: threads with stacks that take all address space

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let mut threads = Vec::new();
    for _ in 0..1000 {
        match std::thread::Builder::new().stack_size(256 << 20).spawn(|| std::thread::sleep(std::time::Duration::from_millis(300))) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                println!("{error}");
                break;
            }
        }
    }
    println!("{} threads", threads.len());
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
