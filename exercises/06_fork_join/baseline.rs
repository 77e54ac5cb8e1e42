//! The baseline of `fork_join`: one stream. Correct, and the branches take turns.

use lab::Result;
use lab::fork_join::{LAYERS, Network};

fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let stream = context.new_stream()?;
    let mut river = network.allocate()?;
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&stream)?;
            x.left(&stream)?;
            x.right(&stream)?;
            x.merge(&stream)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(forward)
}
