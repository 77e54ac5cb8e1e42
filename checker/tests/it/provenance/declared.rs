//! exercise: two_streams
//! gate: output
//! says: the program exited with status 1 before the measured region came to its end
//! cases: half_of_the_outputs no_outputs twice_the_first_half inputs_on_the_device no_task another_task warm_up work_before
//!
//! A region of its own making, by somebody who speaks to the driver as the lab does.

use cudarc::driver::DevicePtr;
use lab::two_streams::Jobs;
use lab::{Error, HostBlock, HostMemory, Result};

const CASE: &str = "__CASE__";

pub fn swim(jobs: &Jobs) -> Result<()> {
    let context = jobs.context();
    let [copies, compute] = [context.new_stream()?, context.new_stream()?];
    let kernel = tools::kernel(context, "map_a")?;
    let elements = tools::ELEMENTS;
    let fresh = HostBlock::new(context, HostMemory::Pinned, elements)?;
    let mut arrived = copies.alloc_zeros::<u32>(elements)?;
    let resident = copies.alloc_zeros::<u32>(elements)?;
    let (host, there, at) = (
        fresh.words()?.as_ptr() as u64,
        arrived.device_ptr(&copies).0,
        resident.device_ptr(&copies).0,
    );
    let bytes = 4 * elements as u64;
    let mut inputs = vec![[0, 0, host, bytes], [2, 0, at, bytes]];
    let mut outputs = vec![[1, 0, there, bytes], [3, 0, at, bytes]];
    let (mut task, mut seed, mut pass) = ("two_streams", tools::SEED, 0);
    context.synchronize()?;
    match CASE {
        "as_it_is" => {}
        "half_of_the_outputs" => outputs[1][3] /= 2,
        "no_outputs" => outputs.clear(),
        "twice_the_first_half" => {
            let half = bytes / 2;
            outputs = vec![[1, 0, there, half], [1, 0, there + half, half], [3, 0, at, bytes]];
        }
        "inputs_on_the_device" => inputs[0][2] = there,
        "no_task" => (task, inputs, outputs) = ("", Vec::new(), Vec::new()),
        "another_task" => {
            task = "first_launch";
            inputs = vec![[0, 0, at, bytes]];
            outputs = vec![[1, 0, at, bytes]];
        }
        "another_seed" => seed += 1,
        "warm_up" => pass = 1,
        "work_before" => tools::launch(&compute, &kernel, at, elements, 924)?,
        other => panic!("{other}"),
    }
    if !tools::begin(task, seed, pass, &inputs, &outputs) {
        return Err(Error::Refused("it is refused".to_owned()));
    }
    copies.memcpy_htod(&fresh, &mut arrived)?;
    tools::launch(&compute, &kernel, at, elements, 924)?;
    context.synchronize()?;
    tools::end();
    Ok(())
}
