//! The updates of 200 tensors, captured in a graph before the clock starts, and launched with one call.

use cudarc::driver::sys::{
    CUgraphInstantiate_flags as Flags,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as MODE,
};
use lab::graphs::updates;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let stream = context.new_stream()?;
    let mut kernels = updates(lab)?;
    stream.begin_capture(MODE)?;
    for kernel in &mut kernels {
        kernel.launch(&stream)?;
    }
    let graph = stream.end_capture(Flags(0))?;
    let graph = graph.expect("200 kernels");
    graph.launch()?;
    lab.region(|| {
        graph.launch()?;
        stream.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
