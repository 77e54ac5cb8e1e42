//! Through the host: the edge is copied when the step is over.

use lab::{Lab, Result, peers};

fn program(lab: &Lab) -> Result<()> {
    let ([first, second], [mut upper, mut lower]) = peers::river(lab)?;

    let (a, b) = (first.new_stream()?, second.new_stream()?);
    let travel = b.clone();
    lab.region(|| {
        for _ in 0..4 {
            upper.step_edge(&a)?;
            upper.step_inside(&a)?;
            lower.step_edge(&b)?;
            lower.step_inside(&b)?;
            travel.join(&a)?;
            travel.memcpy_dtod(&upper.edge, &mut lower.halo)?;
            a.join(&travel)?;
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
