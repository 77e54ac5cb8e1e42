//! # Fork and join: two branches, one river
//!
//! A network of eight layers runs on the device. Each layer is a stem over the whole array, then a left branch
//! over one half and a right branch over the other, then a merge over the whole again. Stem and merge keep every
//! multiprocessor busy. The branches do not: their kernels have 32 blocks.
//!
//! All of it is in one stream, so the branches take turns although neither needs the other.
//!
//! **Your task:** let the two branches of each layer run side by side, and nothing else: the right branch needs
//! its stem, and the merge needs both branches. The host waits for nothing before the end. Run
//! `cargo run -- run fork_join` and look at the row of each stream.
//!
//! `stream.record_event(None)?` gives you an event, and `other.wait(&event)?` makes another stream wait for it.
//! Edit between the `region` marks only; lines are added, none is changed.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let streams = [
        context.new_stream()?,
        // region: streams
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
            // endregion
            x.left(main)?;
            // region: between the branches
            // endregion
            x.right(side)?;
            // region: before the merge
            // endregion
            x.merge(main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
