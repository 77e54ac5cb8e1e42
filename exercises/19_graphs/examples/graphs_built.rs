//! The updates of 200 tensors, captured in a graph while the clock runs, and launched {n} times.

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
    let n = lab.number("n", 1)?;
    lab.region(|| {
        stream.begin_capture(MODE)?;
        for kernel in &mut kernels {
            kernel.launch(&stream)?;
        }
        let graph = stream.end_capture(Flags(0))?;
        let graph = graph.expect("200 kernels");
        for _ in 0..n {
            graph.launch()?;
        }
        stream.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
