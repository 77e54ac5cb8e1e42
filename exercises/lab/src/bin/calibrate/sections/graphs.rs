//! Graphs of kernels in a row: to capture, to instantiate, to launch, and from kernel to kernel; and of copies in a
//! row, to launch.

use std::ptr;

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstreamCaptureMode};

use crate::gpu::{Direction, Gpu, KIB, MS, Outcome, REPETITIONS, call};
use crate::samples::Samples;

/// Kernels in a graph.
const NODES: [usize; 4] = [1, 20, 100, 200];
/// Copies in a graph.
const COPIES: [usize; 3] = [1, 8, 32];

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let kernel = || gpu.nothing(stream);
    for nodes in NODES {
        samples.take(format!("graph_capture_ns/{nodes}"), times, || {
            gpu.idle()?;
            let began = gpu.arm.now()?;
            let graph = capture(gpu, nodes, kernel)?;
            let taken = began.elapsed_ns()?;
            call!(cuGraphDestroy(graph))?;
            Ok(taken)
        });
        let graph = capture(gpu, nodes, kernel)?;
        samples.take(format!("graph_instantiate_ns/{nodes}"), times, || {
            let began = gpu.arm.now()?;
            let executable = instantiate(graph)?;
            let taken = began.elapsed_ns()?;
            call!(cuGraphExecDestroy(executable))?;
            Ok(taken)
        });
        samples.take(format!("graph_first_launch_ns/{nodes}"), times, || {
            let executable = instantiate(graph)?;
            gpu.idle()?;
            let taken = gpu.held(|| call!(cuGraphLaunch(executable, stream)))?;
            gpu.idle()?;
            call!(cuGraphExecDestroy(executable))?;
            Ok(taken)
        });
        let executable = instantiate(graph)?;
        let launch = || call!(cuGraphLaunch(executable, stream));
        launch()?; // the first one uploads it
        samples.take(format!("graph_launch_ns/{nodes}"), times, || {
            gpu.idle()?;
            gpu.held(launch)
        });
        samples.take(format!("graph_run_ns/{nodes}"), times, || {
            gpu.between(2 * MS, [stream; 2], launch)
        });
        call!(cuGraphExecDestroy(executable))?;
        call!(cuGraphDestroy(graph))?;
    }
    let pair = gpu.pair(4 * KIB)?;
    let upload = || gpu.copy(Direction::HostToDevice, pair.host, pair.device, 4 * KIB, stream);
    for copies in COPIES {
        let graph = capture(gpu, copies, upload)?;
        let executable = instantiate(graph)?;
        let launch = || call!(cuGraphLaunch(executable, stream));
        launch()?;
        samples.take(format!("graph_copies_launch_ns/{copies}"), times, || {
            gpu.idle()?;
            gpu.held(launch)
        });
        call!(cuGraphExecDestroy(executable))?;
        call!(cuGraphDestroy(graph))?;
    }
    Ok(())
}

/// So many of an operation, one after the other.
fn capture(gpu: &Gpu, nodes: usize, issue: impl Fn() -> Outcome<()>) -> Outcome<CUgraph> {
    let [stream, _] = gpu.streams;
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    call!(cuStreamBeginCapture_v2(stream, mode))?;
    (0..nodes).try_for_each(|_| issue())?;
    let mut graph = ptr::null_mut();
    call!(cuStreamEndCapture(stream, &mut graph))?;
    Ok(graph)
}

fn instantiate(graph: CUgraph) -> Outcome<CUgraphExec> {
    let mut executable = ptr::null_mut();
    call!(cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
    Ok(executable)
}
