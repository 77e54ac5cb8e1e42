//! Graphs of kernels in a row: to capture, to instantiate, to launch, and from kernel to kernel;
//! and of copies in a row, to launch.
//!
//! A program captures, instantiates and launches once, one after the other, and where it does the
//! driver's code and data are in no cache: a loop of nothing else takes half as long.

use std::ptr;

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstreamCaptureMode};

use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, KIB, MS, REPETITIONS, call};
use crate::pages::Caches;
use crate::samples::Samples;

/// Kernels in a graph.
const NODES: [usize; 4] = [1, 20, 100, 200];
/// Copies in a graph.
const COPIES: [usize; 3] = [1, 8, 32];

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    let kernel = || gpu.nothing(stream);
    let caches = Caches::new(gpu)?;
    for nodes in NODES {
        let (mut captures, mut instantiations, mut launches) = (Vec::new(), Vec::new(), Vec::new());
        let measured = (0..times).try_for_each(|_| {
            caches.empty(gpu)?;
            let began = gpu.arm.now()?;
            let graph = capture(gpu, nodes, kernel)?;
            captures.push(began.elapsed_ns()?);
            let began = gpu.arm.now()?;
            let executable = instantiate(graph)?;
            instantiations.push(began.elapsed_ns()?);
            launches.push(gpu.held(|| call!(cuGraphLaunch(executable, stream)))?);
            gpu.idle()?;
            call!(cuGraphExecDestroy(executable))?;
            call!(cuGraphDestroy(graph))
        });
        for (key, taken) in [
            ("graph_capture_ns", captures),
            ("graph_instantiate_ns", instantiations),
            ("graph_first_launch_ns", launches),
        ] {
            samples.keep(format!("{key}/{nodes}"), measured.clone().map(|()| taken));
        }
        let graph = capture(gpu, nodes, kernel)?;
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
