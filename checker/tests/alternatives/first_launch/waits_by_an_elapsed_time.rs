//! Two events with times: to ask how long it was is to wait for the second.

use cudarc::driver::sys::CUevent_flags;
use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        for length in lengths {
            length.map(&stream)?;
            log.note()?;
        }
        let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        let took_ms = start.elapsed_ms(&end)?;
        assert!(took_ms > 0.0);
        Ok(())
    })
}
