//! A new stream in each layer, forked after the stem and joined before the merge.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let main = context.new_stream()?;

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&main)?;
            let side = main.fork()?;
            x.right(&side)?;
            x.left(&main)?;
            main.join(&side)?;
            x.merge(&main)?;
        }
        main.synchronize()?;
        Ok(())
    })
}
