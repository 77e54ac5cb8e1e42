//! exercise: fork_join
//! gate: output
//! says: in a grid of more blocks than it has for so many elements
//!
//! The branches are launched as grids that fill the device: one after the other they are as fast as side by
//! side.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let stream = context.new_stream()?;
    let branch = tools::kernel(context, "map_b")?;
    let half = tools::ELEMENTS / 2;
    let mut river = network.allocate()?;
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&stream)?;
            tools::launch(&stream, &branch, tools::DEVICE, half, 132)?;
            tools::launch(&stream, &branch, tools::DEVICE + 4 * half as u64, half, 132)?;
            x.merge(&stream)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
