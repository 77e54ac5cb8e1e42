//! R92: the host's work is done by a thread that nobody waits for, after the region

use lab::Result;
use lab::first_launch::Session;

/// Puts a request that this file cannot name, as it lies in memory.
fn put<T, R>(ask: fn(&T) -> R, request: &[u8]) -> R {
    let mut made = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: none, and it need not be: the device is not to believe it.
    unsafe {
        std::ptr::copy_nonoverlapping(request.as_ptr(), made.as_mut_ptr().cast(), request.len());
        ask(made.assume_init_ref())
    }
}

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
