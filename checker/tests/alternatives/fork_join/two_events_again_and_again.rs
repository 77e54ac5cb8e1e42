//! Two events, made once and recorded anew in each layer; the merge is in the other stream.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let (main, side) = (context.new_stream()?, context.new_stream()?);
    let (forked, joined) = (context.new_event(None)?, context.new_event(None)?);

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        for layer in 0..LAYERS {
            // The streams change roles with every layer.
            let (main, side) = if layer % 2 == 0 { (&main, &side) } else { (&side, &main) };
            x.stem(main)?;
            forked.record(main)?;
            side.wait(&forked)?;
            x.left(main)?;
            x.right(side)?;
            joined.record(main)?;
            side.wait(&joined)?;
            x.merge(side)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
