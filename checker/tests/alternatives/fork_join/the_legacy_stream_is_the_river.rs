//! Stem, left branch and merge are in the legacy default stream, which orders nothing here by itself.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let main = context.default_stream();
    let side = context.new_stream_with_priority(-1)?;

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&main)?;
            side.wait(&main.record_event(None)?)?;
            x.left(&main)?;
            x.right(&side)?;
            main.wait(&side.record_event(None)?)?;
            x.merge(&main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
