//! Every other layer forks.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let (main, side) = (context.new_stream()?, context.new_stream()?);

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        for layer in 0..LAYERS {
            x.stem(&main)?;
            if layer % 2 == 0 {
                side.join(&main)?;
                x.right(&side)?;
                x.left(&main)?;
                main.join(&side)?;
            } else {
                x.right(&main)?;
                x.left(&main)?;
            }
            x.merge(&main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
