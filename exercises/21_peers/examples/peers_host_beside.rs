//! Through the host: the edge is copied while the rest of the step is computed.

use lab::{Lab, Result, peers};

fn program(lab: &Lab) -> Result<()> {
    let ([first, second], [mut upper, mut lower]) = peers::river(lab)?;

    let (a, b) = (first.new_stream()?, second.new_stream()?);
    let travel = second.new_stream()?;
    lab.region(|| {
        for _ in 0..4 {
            upper.step_edge(&a)?;
            lower.step_edge(&b)?;
            travel.join(&a)?;
            travel.join(&b)?;
            travel.memcpy_dtod(&upper.edge, &mut lower.halo)?;
            upper.step_inside(&a)?;
            lower.step_inside(&b)?;
            a.join(&travel)?;
            b.join(&travel)?;
        }
        first.synchronize()?;
        second.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
