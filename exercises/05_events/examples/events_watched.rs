//! The same three stages, and still nothing that orders them; but the host is slow.

use std::time::Duration;

use lab::events::Relay;
use lab::exercise::Exercise;
use lab::{HostMemory, Lab, Result, host_work};

/// How long a person looks at what a debugger shows: longer than any of the stages takes.
const LOOK: Duration = Duration::from_millis(20);

fn program(lab: &Lab) -> Result<()> {
    let relay = Relay::open(lab)?;
    let context = relay.context();
    let first = context.new_stream()?;
    let second = context.new_stream()?;
    let third = context.new_stream()?;
    let mut course = relay.single(HostMemory::Pinned)?;
    course.region(|laps, slots| {
        let (lap, slot) = (&mut laps[0], &mut slots[0]);
        first.memcpy_htod(&lap.input, &mut slot.data)?;
        host_work(LOOK)?;
        slot.map(&second)?;
        host_work(LOOK)?;
        third.memcpy_dtoh(&slot.data, &mut lap.output)?;
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
