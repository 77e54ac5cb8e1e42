//! exercise: fork_join
//! gate: output
//! says: in a grid of more blocks than it has for so many elements
//! cases: (2,32) (4,16) (4,32) (8,8) (32,2) (64,1)
//!
//! Each branch is cut into pieces that run side by side, each as a grid that is small: together they fill more of the
//! device than the branch has, and the branches may take turns. The first case scored 100.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Pieces of a branch, and blocks of each.
const CASE: (usize, u32) = __CASE__;

pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let (pieces, blocks) = CASE;
    let mut streams = Vec::new();
    for _ in 0..2 * pieces {
        streams.push(context.new_stream()?);
    }
    let branch = tools::kernel(context, "map_b")?;
    let piece = tools::ELEMENTS / 2 / pieces;
    let mut river = network.allocate()?;
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&streams[0])?;
            streams[0].synchronize()?;
            for (nth, stream) in streams.iter().enumerate() {
                let at = tools::DEVICE + 4 * (nth * piece) as u64;
                tools::launch(stream, &branch, at, piece, blocks)?;
            }
            context.synchronize()?;
            x.merge(&streams[0])?;
            streams[0].synchronize()?;
        }
        Ok(())
    })
}
