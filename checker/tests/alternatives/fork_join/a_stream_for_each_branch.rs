//! Three streams: one for stem and merge, and one for each branch.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let main = context.new_stream()?;
    let (left, right) = (context.new_stream()?, context.new_stream()?);

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&main)?;
            for branch in [&left, &right] {
                branch.join(&main)?;
            }
            x.left(&left)?;
            x.right(&right)?;
            for branch in [&left, &right] {
                main.join(branch)?;
            }
            x.merge(&main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
