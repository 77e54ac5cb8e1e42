//! {n} requests wait for an update. Two more, in a stream of their own, do not.

use lab::how_many_lanes::Kernel;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let n = lab.number("n", 8)?;
    let context = lab.context();
    let update = context.new_stream()?;
    let other = context.new_stream()?;
    let streams = (0..n).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let mut weights = Kernel::long(lab, 1)?.remove(0);
    let mut requests = Kernel::long(lab, n)?;
    let mut others = Kernel::long(lab, 2)?;
    lab.region(|| {
        weights.launch(&update)?;
        let updated = update.record_event(None)?;
        for (request, stream) in requests.iter_mut().zip(&streams) {
            stream.wait(&updated)?;
            request.launch_with(&weights, stream)?;
        }
        // Another model: they wait for nothing.
        for request in &mut others {
            request.launch(&other)?;
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
