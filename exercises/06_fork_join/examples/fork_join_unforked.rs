//! The network with a stream for each branch, made on every call; the merge waits for both.

use lab::exercise::Exercise;
use lab::fork_join::{LAYERS, Network};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let network = Network::open(lab)?;
    let context = network.context();
    let main = context.new_stream()?;
    let mut river = network.allocate()?;
    river.region(|x| {
        for _ in 0..LAYERS {
            x.stem(&main)?;
            let (first, second) = (context.new_stream()?, context.new_stream()?);
            x.left(&first)?;
            x.right(&second)?;
            main.join(&first)?;
            main.join(&second)?;
            x.merge(&main)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
