//! The updates of 200 tensors, captured in two streams as one graph with two branches, and launched with one call.

use cudarc::driver::sys::{
    CUgraphInstantiate_flags as Flags,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as MODE,
};
use lab::graphs::updates;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let mut kernels = updates(lab)?;
    streams[0].begin_capture(MODE)?;
    streams[1].join(&streams[0])?;
    for (index, kernel) in kernels.iter_mut().enumerate() {
        kernel.launch(&streams[index % 2])?;
    }
    streams[0].join(&streams[1])?;
    let graph = streams[0].end_capture(Flags(0))?;
    let graph = graph.expect("200 kernels");
    graph.launch()?;
    lab.region(|| {
        graph.launch()?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
