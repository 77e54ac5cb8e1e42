//! # Asynchronous launches: who is waiting?
//!
//! The device swims 64 lengths, one kernel each. The host launches each of them and keeps a log. Every eighth
//! line fills a page, and writing a page out takes the host almost as long as eight lengths take the device.
//! The log needs nothing that the device computes.
//!
//! The program is right but slow: after each length the host waits until the length is done. So the page waits
//! for the device, and the next length waits for the page.
//!
//! **Your task:** let the host run ahead. What is scored is the host's *freedom*: the share of the time that it
//! spends on its own work. Run `cargo run -- run first_launch` and look at the host's row.
//!
//! `stream.synchronize()?` blocks the host until all work in `stream` is done. When the closure returns, the
//! device has to be idle. Edit between the `region` marks only; lines are added or moved, none is changed.

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;

    let mut course = session.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|lengths, log| {
        for length in lengths {
            // region: before a launch
            // endregion
            length.map(&stream)?;
            // region: after a launch
            stream.synchronize()?;
            // endregion
            log.note()?;
        }
        // region: after the loop
        // endregion
        Ok(())
    })
}
