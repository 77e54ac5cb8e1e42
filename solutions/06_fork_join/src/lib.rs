//! The solution of `fork_join`: the right branch waits for the stem, and the merge for the right branch.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let streams = [
        context.new_stream()?,
        // region: streams
        context.new_stream()?,
        // endregion
    ];
    // With one stream, the right branch shares it with everything else.
    let main = &streams[0];
    let side = &streams[1 % streams.len()];

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(main)?;
            // region: after the stem
            // Recorded before the left branch is asked for: the right one does not need it.
            let forked = main.record_event(None)?;
            side.wait(&forked)?;
            // endregion
            x.left(main)?;
            // region: between the branches
            // endregion
            x.right(side)?;
            // region: before the merge
            let done = side.record_event(None)?;
            main.wait(&done)?;
            // endregion
            x.merge(main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
