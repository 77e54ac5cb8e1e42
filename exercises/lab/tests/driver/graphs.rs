//! Stream capture and graphs.

use std::sync::Arc;

use cudarc::driver::sys::{
    self, CUevent_flags, CUgraphInstantiate_flags, CUresult, CUstream_flags, CUstreamCaptureMode,
    CUstreamCaptureStatus,
};
use cudarc::driver::{CudaContext, CudaGraph, CudaStream, DevicePtr, result};
use kernels::{Stage, map_constants};

use crate::Case;
use crate::cases::{context, map};
use crate::order::{now, one_block};

pub(crate) const CASES: &[Case] = &[
    ("a_graph_does_its_work_when_it_is_launched", a_graph_does_its_work_when_it_is_launched),
    ("a_capture_forks_and_joins_over_events", a_capture_forks_and_joins_over_events),
    ("a_graph_keeps_its_place_in_its_stream", a_graph_keeps_its_place_in_its_stream),
    ("a_graph_costs_the_host_one_call_after_its_first_launch", a_graph_costs_the_host_one_call),
    ("copies_and_host_functions_are_captured", copies_and_host_functions_are_captured),
    ("calls_that_wait_end_a_capture", calls_that_wait_end_a_capture),
    ("calls_that_may_wait_end_a_strict_capture", calls_that_may_wait_end_a_strict_capture),
    ("the_default_stream_cannot_be_captured", the_default_stream_cannot_be_captured),
    ("nothing_connects_a_capture_with_its_surroundings", nothing_connects_a_capture),
    ("a_fork_that_is_not_joined_is_refused", a_fork_that_is_not_joined_is_refused),
    ("captures_end_where_they_began", captures_end_where_they_began),
    ("a_capture_ends_with_its_stream", a_capture_ends_with_its_stream),
    ("launches_of_one_graph_take_turns", launches_of_one_graph_take_turns),
    ("an_update_puts_other_arguments_into_a_graph", an_update_puts_other_arguments_into_a_graph),
    ("an_update_that_changes_what_there_is_to_do_is_refused", an_update_is_refused),
    ("pageable_memory_is_read_when_the_graph_runs", pageable_memory_is_read_when_the_graph_runs),
    ("handles_of_graphs_that_are_gone_are_refused", handles_of_graphs_that_are_gone_are_refused),
    ("a_graph_on_freed_memory_loses_the_context", a_graph_on_freed_memory_loses_the_context),
];

const ELEMENTS: usize = 1024;
const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

const UNSUPPORTED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
const INVALIDATED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

fn end(stream: &Arc<CudaStream>) -> Result<CudaGraph, CUresult> {
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags).map_err(|error| error.0)?;
    Ok(graph.expect("a capture that ended well leaves a graph"))
}

fn fails(ended: Result<CudaGraph, CUresult>) -> CUresult {
    ended.err().expect("the capture does not end well")
}

fn mapped(stage: Stage, rounds: u32, x: u32) -> u32 {
    map_constants(stage).power(rounds).apply(x)
}

/// A stream that takes part in the default stream's barrier.
pub(crate) fn blocking(context: &Arc<CudaContext>) -> Arc<CudaStream> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the pointer is to a handle.
    unsafe { sys::cuStreamCreate(&mut handle, CUstream_flags::CU_STREAM_DEFAULT as u32) }
        .result()
        .unwrap();
    // SAFETY: the stream lives as long as the process.
    unsafe { context.wrap_borrowed_stream(handle) }
}

fn a_graph_does_its_work_when_it_is_launched() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let (a, b) = (map(&context, Stage::A), map(&context, Stage::B));
    let mut data = stream.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    let none = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let active = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    assert_eq!(stream.capture_status().unwrap(), none);
    stream.begin_capture(GLOBAL).unwrap();
    assert_eq!(stream.capture_status().unwrap(), active);
    one_block(&stream, &a, &mut data, 3);
    one_block(&stream, &b, &mut data, 5);
    let graph = end(&stream).unwrap();
    assert_eq!(stream.capture_status().unwrap(), none);
    assert_eq!(stream.clone_dtoh(&data).unwrap()[0], 5, "nothing has run");

    graph.upload().unwrap();
    let once = mapped(Stage::B, 5, mapped(Stage::A, 3, 5));
    graph.launch().unwrap();
    assert!(stream.clone_dtoh(&data).unwrap() == vec![once; ELEMENTS]);
    graph.launch().unwrap();
    let twice = mapped(Stage::B, 5, mapped(Stage::A, 3, once));
    assert!(stream.clone_dtoh(&data).unwrap() == vec![twice; ELEMENTS]);
}

fn a_capture_forks_and_joins_over_events() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let (a, b) = (map(&context, Stage::A), map(&context, Stage::B));
    let mut left = first.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    let mut right = first.clone_htod(&vec![7u32; ELEMENTS]).unwrap();
    context.synchronize().unwrap();
    first.begin_capture(GLOBAL).unwrap();
    one_block(&first, &a, &mut left, 100_001);
    second.wait(&first.record_event(None).unwrap()).unwrap();
    one_block(&second, &a, &mut right, 100_001);
    one_block(&first, &b, &mut left, 100_001);
    first.wait(&second.record_event(None).unwrap()).unwrap();
    one_block(&first, &b, &mut right, 100_001);
    let graph = end(&first).unwrap();
    let before = now();
    graph.launch().unwrap();
    first.synchronize().unwrap();
    let forked = now() - before;
    let read = |data| first.clone_dtoh(data).unwrap()[0];
    assert_eq!(read(&left), mapped(Stage::B, 100_001, mapped(Stage::A, 100_001, 5)));
    assert_eq!(read(&right), mapped(Stage::B, 100_001, mapped(Stage::A, 100_001, 7)));

    // The same in one stream takes four kernels' time, not three.
    first.begin_capture(GLOBAL).unwrap();
    for data in [&mut left, &mut right] {
        one_block(&first, &a, data, 100_001);
        one_block(&first, &b, data, 100_001);
    }
    let graph = end(&first).unwrap();
    let before = now();
    graph.launch().unwrap();
    first.synchronize().unwrap();
    let ratio = forked as f64 / (now() - before) as f64;
    assert!((0.74..0.77).contains(&ratio), "{ratio}");
}

fn a_graph_keeps_its_place_in_its_stream() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let (a, b, c) = (map(&context, Stage::A), map(&context, Stage::B), map(&context, Stage::C));
    let mut data = first.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    context.synchronize().unwrap();
    second.begin_capture(GLOBAL).unwrap();
    one_block(&second, &b, &mut data, 1001);
    let graph = end(&second).unwrap();
    one_block(&first, &a, &mut data, 100_001);
    // Captured in the second stream, launched in the first.
    // SAFETY: graph and stream are live.
    unsafe { sys::cuGraphLaunch(graph.cu_graph_exec(), first.cu_stream()) }.result().unwrap();
    one_block(&first, &c, &mut data, 1001);
    assert_eq!(second.clone_dtoh(&data).unwrap()[0], 5, "nothing orders the second stream");
    let expected = mapped(Stage::C, 1001, mapped(Stage::B, 1001, mapped(Stage::A, 100_001, 5)));
    assert_eq!(first.clone_dtoh(&data).unwrap()[0], expected);
}

fn a_graph_costs_the_host_one_call() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let a = map(&context, Stage::A);
    let mut data = stream.alloc_zeros::<u32>(32).unwrap();
    context.synchronize().unwrap();
    stream.begin_capture(GLOBAL).unwrap();
    for _ in 0..200 {
        one_block(&stream, &a, &mut data, 1);
    }
    let graph = end(&stream).unwrap();
    let launch = || {
        let before = now();
        graph.launch().unwrap();
        let ns = now() - before;
        stream.synchronize().unwrap();
        ns
    };
    // The first one brings the graph to the device.
    let (first, one_call) = (launch(), launch());
    let before = now();
    for _ in 0..200 {
        one_block(&stream, &a, &mut data, 1);
    }
    let many_calls = now() - before;
    assert!(
        one_call < 10_000 && first > 200_000 && many_calls > 500_000,
        "{first}, {one_call} and {many_calls} ns"
    );
}

fn copies_and_host_functions_are_captured() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static SEEN: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn look(data: *mut std::ffi::c_void) {
        // SAFETY: the word lives until the stream has been synchronised.
        SEEN.store(unsafe { *data.cast::<u32>() }, Ordering::Relaxed);
    }
    let context = context();
    let stream = context.new_stream().unwrap();
    let a = map(&context, Stage::A);
    let mut host = lab::HostBlock::new(&context, lab::HostMemory::Pinned, ELEMENTS).unwrap();
    let mut data = stream.alloc_zeros::<u32>(ELEMENTS).unwrap();
    let word = host.words_mut().unwrap().as_mut_ptr();
    context.synchronize().unwrap();
    stream.begin_capture(GLOBAL).unwrap();
    stream.memset_zeros(&mut data).unwrap();
    // By address: cudarc's own pinned blocks wait for an event from outside the capture.
    let (device, bytes) = (data.device_ptr(&stream).0, ELEMENTS * 4);
    let handle = stream.cu_stream();
    // SAFETY: both sides have this many bytes and live until the stream has been synchronised.
    unsafe { sys::cuMemcpyHtoDAsync_v2(device, word.cast(), bytes, handle) }.result().unwrap();
    one_block(&stream, &a, &mut data, 3);
    // SAFETY: as above.
    unsafe { sys::cuMemcpyDtoHAsync_v2(word.cast(), device, bytes, handle) }.result().unwrap();
    // SAFETY: function and word live until the stream has been synchronised.
    unsafe { sys::cuLaunchHostFunc(stream.cu_stream(), Some(look), word.cast()) }.result().unwrap();
    let graph = end(&stream).unwrap();
    // What the memory holds when the graph runs counts, not what it held when it was captured.
    host.words_mut().unwrap().fill(9);
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(SEEN.load(Ordering::Relaxed), mapped(Stage::A, 3, 9));
    assert_eq!(host.words().unwrap()[0], mapped(Stage::A, 3, 9));
}

fn calls_that_wait_end_a_capture() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let refused = |code: CUresult, call: &dyn Fn() -> CUresult| {
        stream.begin_capture(RELAXED).unwrap();
        assert_eq!(call(), code);
        let invalid = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        assert_eq!(stream.capture_status().unwrap(), invalid);
        assert_eq!(stream.record_event(None).unwrap_err().0, INVALIDATED);
        assert_eq!(fails(end(&stream)), INVALIDATED);
        stream.synchronize().unwrap();
    };
    // SAFETY: streams and events are live, or the call is refused.
    unsafe {
        refused(UNSUPPORTED, &|| sys::cuStreamSynchronize(stream.cu_stream()));
        refused(UNSUPPORTED, &|| sys::cuStreamQuery(stream.cu_stream()));
        refused(UNSUPPORTED, &|| sys::cuCtxSynchronize());
        let captured = CUresult::CUDA_ERROR_CAPTURED_EVENT;
        refused(captured, &|| sys::cuEventQuery(stream.record_event(None).unwrap().cu_event()));
        refused(captured, &|| {
            sys::cuEventSynchronize(stream.record_event(None).unwrap().cu_event())
        });
    }
}

fn calls_that_may_wait_end_a_strict_capture() {
    let context = context();
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let done = other.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
    other.synchronize().unwrap();
    let block = result::malloc_sync;
    // SAFETY: what is allocated is not used.
    let calls: [&dyn Fn() -> CUresult; 3] = unsafe {
        [
            &|| block(64).err().map_or(CUresult::CUDA_SUCCESS, |error| error.0),
            &|| result::malloc_host(64, 0).err().map_or(CUresult::CUDA_SUCCESS, |error| error.0),
            &|| sys::cuEventQuery(done.cu_event()),
        ]
    };
    for call in calls {
        stream.begin_capture(GLOBAL).unwrap();
        assert_eq!(call(), UNSUPPORTED);
        assert_eq!(fails(end(&stream)), INVALIDATED);
        stream.begin_capture(RELAXED).unwrap();
        assert_eq!(call(), CUresult::CUDA_SUCCESS);
        end(&stream).unwrap();
    }
    // Other streams go on as ever, and synchronous copies and module loads too (measured on an H200).
    stream.begin_capture(GLOBAL).unwrap();
    map(&context, Stage::A);
    other.synchronize().unwrap();
    // SAFETY: a copy of nothing.
    assert_eq!(unsafe { sys::cuMemcpyDtoD_v2(0, 0, 0) }, CUresult::CUDA_SUCCESS);
    end(&stream).unwrap();
}

fn the_default_stream_cannot_be_captured() {
    let context = context();
    let default = context.default_stream();
    assert_eq!(default.begin_capture(GLOBAL).unwrap_err().0, UNSUPPORTED);

    // A blocking stream is in its barrier, so it cannot even be used.
    let (blocking, non_blocking) = (blocking(&context), context.new_stream().unwrap());
    let implicit = CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    blocking.begin_capture(RELAXED).unwrap();
    assert_eq!(default.record_event(None).unwrap_err().0, implicit);
    assert_eq!(fails(end(&blocking)), INVALIDATED);
    // SAFETY: the copy is refused.
    let copied = || unsafe { sys::cuMemcpyDtoD_v2(0, 0, 0) };
    blocking.begin_capture(RELAXED).unwrap();
    assert_eq!(copied(), implicit, "a synchronous call is one in the default stream");
    assert_eq!(fails(end(&blocking)), INVALIDATED);

    non_blocking.begin_capture(RELAXED).unwrap();
    default.record_event(None).unwrap();
    end(&non_blocking).unwrap();
}

fn nothing_connects_a_capture() {
    let context = context();
    let [a, b, c] = [(); 3].map(|()| context.new_stream().unwrap());
    let outside = b.record_event(None).unwrap();
    a.begin_capture(GLOBAL).unwrap();
    let isolated = a.wait(&outside).unwrap_err().0;
    assert_eq!(isolated, CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    assert_eq!(fails(end(&a)), INVALIDATED);

    a.begin_capture(GLOBAL).unwrap();
    b.begin_capture(GLOBAL).unwrap();
    let of_a = a.record_event(None).unwrap();
    let merged = b.wait(&of_a).unwrap_err().0;
    assert_eq!(merged, CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE);
    assert_eq!(fails(end(&a)), INVALIDATED);
    assert_eq!(fails(end(&b)), INVALIDATED);
    // The event still stands for nothing that was ever queued.
    assert_eq!(c.wait(&of_a).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);
    of_a.record(&c).unwrap();
    c.wait(&of_a).unwrap();
    of_a.synchronize().unwrap();
}

fn a_fork_that_is_not_joined_is_refused() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let a = map(&context, Stage::A);
    let mut data = first.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    context.synchronize().unwrap();
    first.begin_capture(GLOBAL).unwrap();
    second.wait(&first.record_event(None).unwrap()).unwrap();
    one_block(&second, &a, &mut data, 3);
    assert_eq!(fails(end(&first)), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    // Both streams are free again, and nothing has run.
    second.synchronize().unwrap();
    assert_eq!(second.clone_dtoh(&data).unwrap()[0], 5);
}

fn captures_end_where_they_began() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    assert_eq!(fails(end(&first)), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    first.begin_capture(GLOBAL).unwrap();
    let again = first.begin_capture(GLOBAL).unwrap_err().0;
    assert_eq!(again, CUresult::CUDA_ERROR_ILLEGAL_STATE);
    second.wait(&first.record_event(None).unwrap()).unwrap();
    assert_eq!(fails(end(&second)), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assert_eq!(fails(end(&first)), INVALIDATED);
}

fn handles_of_graphs_that_are_gone_are_refused() {
    let context = context();
    let stream = context.new_stream().unwrap();
    stream.begin_capture(GLOBAL).unwrap();
    let graph = end(&stream).unwrap();
    let (handle, executable) = (graph.cu_graph(), graph.cu_graph_exec());
    drop(graph);
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    // SAFETY: the calls are refused.
    unsafe {
        assert_eq!(sys::cuGraphLaunch(executable, stream.cu_stream()), invalid);
        assert_eq!(sys::cuGraphExecDestroy(executable), invalid);
        assert_eq!(sys::cuGraphDestroy(handle), invalid);
    }
}

fn a_graph_on_freed_memory_loses_the_context() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let a = map(&context, Stage::A);
    let mut data = stream.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    let mut set = stream.alloc_zeros::<u32>(ELEMENTS).unwrap();
    context.synchronize().unwrap();
    stream.begin_capture(GLOBAL).unwrap();
    stream.memset_zeros(&mut set).unwrap();
    one_block(&stream, &a, &mut data, 3);
    let graph = end(&stream).unwrap();
    drop((data, set));
    context.synchronize().unwrap();
    graph.launch().unwrap();
    let lost = stream.synchronize().unwrap_err().0;
    assert_eq!(lost, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
}

fn a_capture_ends_with_its_stream() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    first.begin_capture(GLOBAL).unwrap();
    drop(first);
    context.synchronize().unwrap();

    // A branch that is destroyed cannot be joined any more.
    let third = context.new_stream().unwrap();
    second.begin_capture(GLOBAL).unwrap();
    third.wait(&second.record_event(None).unwrap()).unwrap();
    drop(third);
    assert_eq!(fails(end(&second)), INVALIDATED);
}

fn launches_of_one_graph_take_turns() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let a = map(&context, Stage::A);
    let mut data = first.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    context.synchronize().unwrap();
    first.begin_capture(GLOBAL).unwrap();
    one_block(&first, &a, &mut data, 1001);
    let graph = end(&first).unwrap();
    graph.launch().unwrap();
    // SAFETY: graph and stream are live.
    unsafe { sys::cuGraphLaunch(graph.cu_graph_exec(), second.cu_stream()) }.result().unwrap();
    let expected = mapped(Stage::A, 1001, mapped(Stage::A, 1001, 5));
    assert_eq!(second.clone_dtoh(&data).unwrap()[0], expected);
}

/// Updates what `graph` launches to what `other` was captured as.
fn update(graph: &CudaGraph, other: &CudaGraph) -> CUresult {
    let mut info = std::mem::MaybeUninit::zeroed();
    let (executable, other) = (graph.cu_graph_exec(), other.cu_graph());
    // SAFETY: both are live, and there is room for what is said.
    unsafe { sys::cuGraphExecUpdate_v2(executable, other, info.as_mut_ptr()) }
}

/// As an H200 did (driver 580.159.04, 2026-11-27).
fn an_update_puts_other_arguments_into_a_graph() {
    let context = context();
    let (stream, side) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let a = map(&context, Stage::A);
    let mut data = [5u32, 7].map(|x| stream.clone_htod(&vec![x; ELEMENTS]).unwrap());
    let [first, second] = [0, 1].map(|which| {
        stream.begin_capture(GLOBAL).unwrap();
        side.join(&stream).unwrap();
        one_block(&stream, &a, &mut data[which], 3);
        stream.join(&side).unwrap();
        end(&stream).unwrap()
    });
    first.launch().unwrap();
    // While it runs, too.
    assert_eq!(update(&first, &second), CUresult::CUDA_SUCCESS);
    first.launch().unwrap();
    first.launch().unwrap();
    let once = |x| mapped(Stage::A, 3, x);
    assert_eq!(stream.clone_dtoh(&data[0]).unwrap()[0], once(5));
    assert_eq!(stream.clone_dtoh(&data[1]).unwrap()[0], once(once(7)));
}

/// As an H200 did (driver 580.159.04, 2026-11-27).
fn an_update_is_refused() {
    const REFUSED: CUresult = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    let context = context();
    let (stream, side) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let a = map(&context, Stage::A);
    let mut data = stream.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    let mut other = stream.clone_htod(&vec![7u32; ELEMENTS]).unwrap();
    let mut host = vec![0u32; ELEMENTS];
    stream.begin_capture(GLOBAL).unwrap();
    one_block(&stream, &a, &mut data, 3);
    one_block(&stream, &a, &mut other, 3);
    let chain = end(&stream).unwrap();
    stream.begin_capture(GLOBAL).unwrap();
    one_block(&stream, &a, &mut data, 3);
    let shorter = end(&stream).unwrap();
    stream.begin_capture(GLOBAL).unwrap();
    side.join(&stream).unwrap();
    one_block(&stream, &a, &mut data, 3);
    one_block(&side, &a, &mut other, 3);
    stream.join(&side).unwrap();
    let forked = end(&stream).unwrap();
    let [up, more, down] = [0, 1, 2].map(|which| {
        stream.begin_capture(GLOBAL).unwrap();
        match which {
            0 => stream.memcpy_htod(&host[..ELEMENTS / 2], &mut data).unwrap(),
            1 => stream.memcpy_htod(&host, &mut data).unwrap(),
            _ => stream.memcpy_dtoh(&data, &mut host).unwrap(),
        }
        end(&stream).unwrap()
    });
    for (own, others) in [(&chain, &shorter), (&chain, &forked), (&shorter, &up), (&up, &down)] {
        assert_eq!(update(own, others), REFUSED);
    }
    assert_eq!(update(&up, &more), CUresult::CUDA_SUCCESS, "a copy may get longer");
    chain.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&other).unwrap()[0], mapped(Stage::A, 3, 7), "it is as it was");
}

fn pageable_memory_is_read_when_the_graph_runs() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let mut data = stream.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    let mut host = vec![7u32; ELEMENTS];
    stream.begin_capture(GLOBAL).unwrap();
    stream.memcpy_htod(&host, &mut data).unwrap();
    let graph = end(&stream).unwrap();
    host.fill(9);
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(stream.clone_dtoh(&data).unwrap()[0], 9);
}
