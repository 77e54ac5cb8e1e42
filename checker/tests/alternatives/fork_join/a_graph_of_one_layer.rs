//! One layer is a graph, which is launched eight times.

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
        main.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
        x.stem(&main)?;
        side.join(&main)?;
        x.right(&side)?;
        x.left(&main)?;
        main.join(&side)?;
        x.merge(&main)?;
        let graph = main.end_capture(CUgraphInstantiate_flags(0))?;
        let layer = graph.expect("a layer is a graph");
        for _ in 0..LAYERS {
            layer.launch()?;
        }
        main.synchronize()?;
        Ok(())
    })
}
