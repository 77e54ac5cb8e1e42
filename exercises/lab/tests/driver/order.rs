//! What waits for what, as it shows through the driver API.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUevent_flags, CUresult, CUstream_flags};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg,
    result,
};
use kernels::Stage;

use crate::Case;
use crate::cases::{context, map};

pub(crate) const CASES: &[Case] = &[
    (
        "the_number_of_connections_comes_from_the_environment",
        the_number_of_connections_comes_from_the_environment,
    ),
    ("a_full_stream_blocks_the_launch", a_full_stream_blocks_the_launch),
    (
        "the_per_thread_stream_is_a_blocking_stream_of_its_own",
        the_per_thread_stream_is_a_blocking_stream_of_its_own,
    ),
    (
        "an_event_may_be_destroyed_while_a_stream_waits_for_it",
        an_event_may_be_destroyed_while_a_stream_waits_for_it,
    ),
    (
        "the_time_between_events_is_not_ready_before_both_are",
        the_time_between_events_is_not_ready_before_both_are,
    ),
    ("a_destroyed_stream_still_does_its_work", a_destroyed_stream_still_does_its_work),
    (
        "a_use_after_a_free_reads_what_the_next_owner_wrote",
        a_use_after_a_free_reads_what_the_next_owner_wrote,
    ),
];

/// One block, which leaves room for kernels of other streams: about 4 ms for 100 000 rounds.
pub(crate) fn one_block(
    stream: &Arc<CudaStream>,
    map: &CudaFunction,
    data: &mut CudaSlice<u32>,
    rounds: u32,
) {
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let n = data.len() as u32;
    let source = data.device_ptr(stream).0;
    let mut launch = stream.launch_builder(map);
    launch.arg(&source).arg(data).arg(&n).arg(&rounds);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(config) }.expect("the launch is accepted");
}

const LONG: u32 = 1_000_001;
const ELEMENTS: usize = 1024;

/// The machine's clock, in ns.
pub(crate) fn now() -> u64 {
    match lab::driver::ask(&trace::lab_protocol::Request::Clock) {
        Ok(trace::lab_protocol::Reply::Clock { ns }) => ns,
        other => panic!("no clock but {other:?}"),
    }
}

fn the_number_of_connections_comes_from_the_environment() {
    // SAFETY: the case is alone in its process, and has no other thread.
    unsafe { std::env::set_var("CUDA_DEVICE_MAX_CONNECTIONS", "1") };
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut data = first.alloc_zeros::<u32>(ELEMENTS).unwrap();
    let mut other = second.alloc_zeros::<u32>(ELEMENTS).unwrap();
    context.synchronize().unwrap();
    one_block(&first, &map, &mut data, LONG);
    let done = first.record_event(None).unwrap();
    one_block(&first, &map, &mut data, LONG);
    one_block(&second, &map, &mut other, 1);
    second.synchronize().unwrap();
    // The second stream's kernel was behind one that waited for the first kernel.
    assert!(done.is_complete());
    // SAFETY: the stream is live.
    assert_eq!(unsafe { sys::cuStreamQuery(first.cu_stream()) }, CUresult::CUDA_ERROR_NOT_READY);
}

fn a_full_stream_blocks_the_launch() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut data = first.alloc_zeros::<u32>(ELEMENTS).unwrap();
    let mut other = second.alloc_zeros::<u32>(ELEMENTS).unwrap();
    context.synchronize().unwrap();
    one_block(&first, &map, &mut data, LONG);
    let done = first.record_event(None).unwrap();
    let held = |stream, data: &mut _| {
        let before = now();
        one_block(stream, &map, data, 1);
        now() - before
    };
    let queued: Vec<u64> = (0..1021).map(|_| held(&first, &mut data)).collect();
    assert!(queued.iter().all(|&ns| ns < 5_000));
    assert!(held(&second, &mut other) < 5_000, "another stream is not affected");
    assert!(!done.is_complete());
    assert!(held(&first, &mut data) > 1_000_000);
    assert!(done.is_complete());
}

/// What a second stream sees of a kernel's output, where the first has just been given the kernel.
fn sees(context: &Arc<CudaContext>, first: &Arc<CudaStream>, second: &Arc<CudaStream>) -> bool {
    let mut data = first.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    context.synchronize().unwrap();
    // To load its module waits for the device, and so does to unload it.
    let map = map(context, Stage::A);
    one_block(first, &map, &mut data, 1001);
    let seen = second.clone_dtoh(&data).unwrap();
    context.synchronize().unwrap();
    seen[0] != 5
}

fn the_per_thread_stream_is_a_blocking_stream_of_its_own() {
    let context = context();
    let borrowed = |handle: usize| {
        // SAFETY: the default streams are always there.
        unsafe { context.wrap_borrowed_stream(std::ptr::without_provenance_mut(handle)) }
    };
    let (null, legacy, per_thread) = (borrowed(0), borrowed(1), borrowed(2));
    let created = |flags: CUstream_flags| {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a handle.
        unsafe { sys::cuStreamCreate(&mut handle, flags as u32) }.result().unwrap();
        // SAFETY: the stream lives as long as the process.
        unsafe { context.wrap_borrowed_stream(handle) }
    };
    let blocking = created(CUstream_flags::CU_STREAM_DEFAULT);
    let non_blocking = created(CUstream_flags::CU_STREAM_NON_BLOCKING);
    let sees = |first, second| sees(&context, first, second);
    assert!(sees(&null, &legacy) && sees(&legacy, &null), "two names of one stream");
    assert!(sees(&per_thread, &per_thread), "it is in order");
    assert!(sees(&legacy, &per_thread), "it waits for the default stream");
    assert!(sees(&per_thread, &legacy), "the default stream waits for it");
    assert!(!sees(&per_thread, &blocking), "it is no barrier");
    assert!(!sees(&blocking, &per_thread), "nothing is a barrier for it but the default stream");
    assert!(!sees(&non_blocking, &legacy) && !sees(&non_blocking, &per_thread));
}

fn an_event_may_be_destroyed_while_a_stream_waits_for_it() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut data = first.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    context.synchronize().unwrap();
    one_block(&first, &map, &mut data, 1001);
    let event = first.record_event(None).unwrap();
    second.wait(&event).unwrap();
    drop(event);
    // A new event may get what the old one left: the wait is not for this one.
    let fresh = context.new_event(None).unwrap();
    assert!(second.clone_dtoh(&data).unwrap()[0] != 5);
    assert!(fresh.is_complete(), "an event that was never recorded has nothing to wait for");
}

fn the_time_between_events_is_not_ready_before_both_are() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::A);
    let mut data = stream.alloc_zeros::<u32>(ELEMENTS).unwrap();
    let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(timed).unwrap();
    stream.synchronize().unwrap();
    one_block(&stream, &map, &mut data, LONG);
    let end = stream.record_event(timed).unwrap();
    let elapsed = || {
        // SAFETY: both events are live.
        unsafe { result::event::elapsed(start.cu_event(), end.cu_event()) }
    };
    assert_eq!(elapsed().unwrap_err().0, CUresult::CUDA_ERROR_NOT_READY);
    let never = context.new_event(timed).unwrap();
    // SAFETY: both events are live.
    let unrecorded = unsafe { result::event::elapsed(start.cu_event(), never.cu_event()) };
    assert_eq!(unrecorded.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_HANDLE);
    end.synchronize().unwrap();
    assert!(elapsed().unwrap() > 1.0);
}

fn a_destroyed_stream_still_does_its_work() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut data = second.clone_htod(&vec![5u32; ELEMENTS]).unwrap();
    context.synchronize().unwrap();
    one_block(&first, &map, &mut data, 1001);
    drop(first);
    context.synchronize().unwrap();
    assert!(second.clone_dtoh(&data).unwrap()[0] != 5);
}

fn a_use_after_a_free_reads_what_the_next_owner_wrote() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut busy = second.alloc_zeros::<u32>(ELEMENTS).unwrap();
    // SAFETY: the copy below writes all of it before it is read.
    let mut seen = unsafe { context.alloc_pinned::<u32>(ELEMENTS) }.unwrap();
    let bytes = ELEMENTS * 4;
    // SAFETY: that the copy reads memory that was freed is what the case is about.
    unsafe {
        let owned = result::malloc_async(first.cu_stream(), bytes).unwrap();
        result::memset_d8_async(owned, 5, bytes, first.cu_stream()).unwrap();
        context.synchronize().unwrap();
        one_block(&second, &map, &mut busy, LONG);
        let target = seen.as_mut_slice().unwrap();
        result::memcpy_dtoh_async(target, owned, second.cu_stream()).unwrap();
        result::free_async(owned, first.cu_stream()).unwrap();
        let next = result::malloc_async(first.cu_stream(), bytes).unwrap();
        assert_eq!(next, owned);
        result::memset_d8_async(next, 7, bytes, first.cu_stream()).unwrap();
        context.synchronize().unwrap();
        result::free_async(next, first.cu_stream()).unwrap();
    }
    assert_eq!(seen.as_slice().unwrap()[0], 0x0707_0707);
}
