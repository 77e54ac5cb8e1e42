//! The host waits for the right branch in place of the stream that needs it.

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
            side.join(&main)?;
            x.left(&main)?;
            x.right(&side)?;
            side.synchronize()?;
            x.merge(&main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
