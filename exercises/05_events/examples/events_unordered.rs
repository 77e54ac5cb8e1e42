//! The puzzle as written: three stages on three streams, and nothing that orders them.

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
        first.memcpy_htod(&lap.input, &mut slot.data)?;
        slot.map(&second)?;
        third.memcpy_dtoh(&slot.data, &mut lap.output)?;
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
