//! Two streams, and the fork is behind the left branch: the branches take turns after all.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let (main, side) = (context.new_stream()?, context.new_stream()?);

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&main)?;
            x.left(&main)?;
            side.join(&main)?;
            x.right(&side)?;
            main.join(&side)?;
            x.merge(&main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
