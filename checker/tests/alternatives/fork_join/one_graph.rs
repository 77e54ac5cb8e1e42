//! The whole network is a graph.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use lab::Result;
use lab::fork_join::{LAYERS, Network};

/// Sends the array through the network.
pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let (main, side) = (context.new_stream()?, context.new_stream()?);

    let mut river = network.allocate()?;
    // The clock runs from here to the end of the closure.
    river.region(|x| {
        main.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        for _ in 0..LAYERS {
            x.stem(&main)?;
            side.join(&main)?;
            x.left(&main)?;
            x.right(&side)?;
            main.join(&side)?;
            x.merge(&main)?;
        }
        let graph = main.end_capture(CUgraphInstantiate_flags(0))?;
        graph.expect("a network is a graph").launch()?;
        main.synchronize()?;
        Ok(())
    })
}
