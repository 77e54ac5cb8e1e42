//! Each stage waits for an event that is recorded after the stage before it.

use lab::events::Relay;
use lab::exercise::Exercise;
use lab::{HostMemory, Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let relay = Relay::open(lab)?;
    let context = relay.context();
    let first = context.new_stream()?;
    let second = context.new_stream()?;
    let third = context.new_stream()?;
    let mut course = relay.single(HostMemory::Pinned)?;
    course.region(|laps, slots| {
        let (lap, slot) = (&mut laps[0], &mut slots[0]);
        let (copied, mapped) = (context.new_event(None)?, context.new_event(None)?);
        first.memcpy_htod(&lap.input, &mut slot.data)?;
        copied.record(&first)?;
        second.wait(&copied)?;
        slot.map(&second)?;
        mapped.record(&second)?;
        third.wait(&mapped)?;
        third.memcpy_dtoh(&slot.data, &mut lap.output)?;
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
