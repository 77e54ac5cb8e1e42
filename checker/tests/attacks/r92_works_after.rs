//! R92: the host's work is done by a thread that nobody waits for, after the region

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    let (send, receive) = lab::thread::channel::<()>()?;
    let writes = lab::thread::spawn(move || {
        _ = receive.recv();
        lab::host_work(std::time::Duration::from_micros(7_000))
    })?;
    course.region(|lengths, _log| {
        for length in lengths {
            length.map(&stream)?;
        }
        Ok(stream.synchronize()?)
    })?;
    _ = send.send(());
    _ = writes.join();
    Ok(())
}
