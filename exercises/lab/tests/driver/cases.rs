//! What works.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{self, CUevent_flags, CUstream_flags};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg, result,
};
use cudarc::nvrtc::Ptx;
use kernels::{Stage, map_constants};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    ("a_context_knows_its_device", a_context_knows_its_device),
    (
        "streams_have_the_priority_that_they_were_given",
        streams_have_the_priority_that_they_were_given,
    ),
    ("events_measure_device_time", events_measure_device_time),
    ("memory_is_allocated_and_freed_in_both_ways", memory_is_allocated_and_freed_in_both_ways),
    ("every_copy_carries_every_byte", every_copy_carries_every_byte),
    (
        "pinned_memory_is_copied_after_the_call_returned",
        pinned_memory_is_copied_after_the_call_returned,
    ),
    ("pageable_memory_can_be_reused_at_once", pageable_memory_can_be_reused_at_once),
    ("memsets_write_their_pattern", memsets_write_their_pattern),
    (
        "a_kernel_from_ptx_computes_what_its_twin_does",
        a_kernel_from_ptx_computes_what_its_twin_does,
    ),
    (
        "a_query_says_not_ready_until_the_work_is_done",
        a_query_says_not_ready_until_the_work_is_done,
    ),
    ("a_host_function_runs_in_stream_order", a_host_function_runs_in_stream_order),
    (
        "a_missing_wait_gives_wrong_data_and_a_wait_right",
        a_missing_wait_gives_wrong_data_and_a_wait_right,
    ),
    (
        "reads_happen_at_the_start_and_writes_at_the_end",
        reads_happen_at_the_start_and_writes_at_the_end,
    ),
    (
        "the_default_stream_holds_blocking_streams_back",
        the_default_stream_holds_blocking_streams_back,
    ),
    ("a_wait_binds_to_the_record_before_it", a_wait_binds_to_the_record_before_it),
    (
        "stages_twice_or_in_the_wrong_order_show_in_the_data",
        stages_twice_or_in_the_wrong_order_show_in_the_data,
    ),
];

/// A context without cudarc's automatic events.
pub(crate) fn context() -> Arc<CudaContext> {
    lab::driver::load().expect("the driver library is there");
    let context = CudaContext::new(0).expect("there is a device");
    // SAFETY: the cases order their work themselves.
    unsafe { context.disable_event_tracking() };
    context
}

/// A map kernel.
pub(crate) fn map(context: &Arc<CudaContext>, stage: Stage) -> CudaFunction {
    let module = context.load_module(Ptx::from_src(kernels::map::IMAGE)).expect("the image loads");
    module.load_function(stage.name()).expect("the entry is there")
}

/// Rounds that keep a whole device busy for about 10 ms on a million elements.
const LONG: u32 = 150_001;
const MILLION: usize = 1 << 20;

pub(crate) fn launch(
    stream: &Arc<CudaStream>,
    map: &CudaFunction,
    data: &mut CudaSlice<u32>,
    rounds: u32,
) {
    let config =
        LaunchConfig { grid_dim: (1056, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let n = data.len() as u32;
    let source = {
        use cudarc::driver::DevicePtr;
        data.device_ptr(stream).0
    };
    let mut launch = stream.launch_builder(map);
    launch.arg(&source).arg(data).arg(&n).arg(&rounds);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(config) }.expect("the launch is accepted");
}

fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

fn mapped(stage: Stage, rounds: u32, data: &[u32]) -> Vec<u32> {
    let map = map_constants(stage).power(rounds);
    data.iter().map(|&x| map.apply(x)).collect()
}

fn a_context_knows_its_device() {
    let context = context();
    assert_eq!(context.name().unwrap(), "NVIDIA H200 (simulated)");
    assert_eq!(context.compute_capability().unwrap(), (9, 0));
    let multiprocessors = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    assert_eq!(context.attribute(multiprocessors).unwrap(), 132);
    let (free, total) = result::mem_get_info().unwrap();
    assert!(free <= total && total > 100 << 30);
    context.synchronize().unwrap();
}

fn streams_have_the_priority_that_they_were_given() {
    let context = context();
    let (mut least, mut greatest) = (1, 1);
    // SAFETY: both point to an int.
    unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }.result().unwrap();
    assert_eq!((least, greatest), (0, -5));
    for (asked, given) in [(0, 0), (-3, -3), (-5, -5), (-9, -5), (7, 0)] {
        let stream = context.new_stream_with_priority(asked).unwrap();
        let mut found = 99;
        // SAFETY: the stream is live, and the pointer is to an int.
        unsafe { sys::cuStreamGetPriority(stream.cu_stream(), &mut found) }.result().unwrap();
        assert_eq!(found, given, "asked for {asked}");
    }
}

fn events_measure_device_time() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::A);
    let mut data = stream.alloc_zeros::<u32>(MILLION).unwrap();
    let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(timed).unwrap();
    launch(&stream, &map, &mut data, LONG);
    let end = stream.record_event(timed).unwrap();
    let ms = start.elapsed_ms(&end).unwrap();
    // 2^20 elements are not quite four for each thread, but on the fullest multiprocessor all 2048 threads have
    // four: of 150 001 rounds, at 124 150 element-rounds a µs.
    assert!((9.85..9.95).contains(&ms), "{ms} ms");
    let untimed = stream.record_event(None).unwrap();
    assert_eq!(start.elapsed_ms(&untimed).unwrap_err().0, sys::CUresult::CUDA_ERROR_INVALID_HANDLE);
}

fn memory_is_allocated_and_freed_in_both_ways() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let (free, _) = result::mem_get_info().unwrap();
    // SAFETY: freed below, not used.
    let (plain, ordered) = unsafe {
        (
            result::malloc_sync(1 << 20).unwrap(),
            result::malloc_async(stream.cu_stream(), 1 << 20).unwrap(),
        )
    };
    assert_ne!(plain, ordered);
    // The pool has grown by a chunk, of which one MiB is in use.
    const CHUNK: usize = 32 << 20;
    assert_eq!(result::mem_get_info().unwrap().0, free - (1 << 20) - CHUNK);
    // SAFETY: allocated above, in the same ways.
    unsafe {
        result::free_async(ordered, stream.cu_stream()).unwrap();
        result::free_sync(plain).unwrap();
    }
    // The pool holds on to what was its own until the next synchronisation.
    assert_eq!(result::mem_get_info().unwrap().0, free - CHUNK);
    stream.synchronize().unwrap();
    assert_eq!(result::mem_get_info().unwrap().0, free);
    // SAFETY: nothing is allocated.
    let too_much = unsafe { result::malloc_sync(1 << 42) };
    assert_eq!(too_much.unwrap_err().0, sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
}

fn every_copy_carries_every_byte() {
    let context = context();
    let stream = context.new_stream().unwrap();
    // Ten bytes more than two windows of the mailbox, so that parts are cut and joined.
    let bytes = (2 << 20) + 10;
    let original: Vec<u8> = (0..bytes).map(|i| (i * 31 + i / 255) as u8).collect();
    let back = |device: &CudaSlice<u8>| stream.clone_dtoh(device).unwrap();

    let a = stream.clone_htod(&original).unwrap();
    assert!(back(&a) == original, "pageable, asynchronous, both ways");

    let mut b = stream.alloc_zeros::<u8>(bytes).unwrap();
    stream.memcpy_dtod(&a, &mut b).unwrap();
    assert!(back(&b) == original, "inside the device");

    let mut from = lab::HostBlock::new(&context, lab::HostMemory::Pinned, 1 << 18).unwrap();
    from.words_mut().unwrap().copy_from_slice(&numbers(1 << 18));
    let mut to = lab::HostBlock::new(&context, lab::HostMemory::Pinned, 1 << 18).unwrap();
    let mut words = stream.alloc_zeros::<u32>(1 << 18).unwrap();
    stream.memcpy_htod(&from, &mut words).unwrap();
    stream.memcpy_dtoh(&words, &mut to).unwrap();
    stream.synchronize().unwrap();
    assert!(to.words().unwrap() == numbers(1 << 18), "pinned, asynchronous, both ways");

    let (mut read, address) = (vec![0u8; bytes], {
        use cudarc::driver::DevicePtr;
        b.device_ptr(&stream).0
    });
    // SAFETY: both sides have this many bytes.
    unsafe {
        result::memset_d8_sync(address, 0, bytes).unwrap();
        result::memcpy_htod_sync(address, &original).unwrap();
        result::memcpy_dtoh_sync(&mut read, address).unwrap();
    }
    assert!(read == original, "synchronous, both ways");
    read.fill(0);
    // SAFETY: as above; the call finds out by itself which side is the device.
    unsafe {
        sys::cuMemcpy(read.as_mut_ptr() as u64, address, bytes).result().unwrap();
    }
    assert!(read == original, "by address alone");

    to.words_mut().unwrap().fill(0);
    let (from, into) = (from.words().unwrap(), to.words_mut().unwrap());
    // SAFETY: both sides have this many bytes.
    unsafe {
        let bytes = std::mem::size_of_val(from);
        sys::cuMemcpy(into.as_mut_ptr() as u64, from.as_ptr() as u64, bytes).result().unwrap();
    }
    assert!(to.words().unwrap() == numbers(1 << 18), "between two places of the host");
}

fn pinned_memory_is_copied_after_the_call_returned() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::A);
    let mut busy = stream.alloc_zeros::<u32>(MILLION).unwrap();
    let mut device = stream.alloc_zeros::<u32>(1000).unwrap();
    let mut host = lab::HostBlock::new(&context, lab::HostMemory::Pinned, 1000).unwrap();
    host.words_mut().unwrap().fill(1);
    stream.synchronize().unwrap();
    launch(&stream, &map, &mut busy, LONG);
    stream.memcpy_htod(&host, &mut device).unwrap();
    // The copy waits behind the kernel: it has not read the 1s yet.
    host.words_mut().unwrap().fill(2);
    assert_eq!(stream.clone_dtoh(&device).unwrap(), vec![2; 1000]);
}

fn pageable_memory_can_be_reused_at_once() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::A);
    let mut busy = stream.alloc_zeros::<u32>(MILLION).unwrap();
    for elements in [1000, MILLION] {
        let mut device = stream.alloc_zeros::<u32>(elements).unwrap();
        let mut host = vec![1u32; elements];
        launch(&stream, &map, &mut busy, LONG);
        stream.memcpy_htod(&host, &mut device).unwrap();
        host.fill(2);
        assert!(stream.clone_dtoh(&device).unwrap() == vec![1; elements], "{elements} elements");
    }
}

fn memsets_write_their_pattern() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let data = stream.clone_htod(&[0xffu8; 16]).unwrap();
    let address = {
        use cudarc::driver::DevicePtr;
        data.device_ptr(&stream).0
    };
    // SAFETY: all inside the 16 bytes.
    unsafe {
        sys::cuMemsetD32Async(address, 0x0403_0201, 2, stream.cu_stream()).result().unwrap();
        sys::cuMemsetD16Async(address + 8, 0x0605, 2, stream.cu_stream()).result().unwrap();
        sys::cuMemsetD8Async(address + 12, 7, 3, stream.cu_stream()).result().unwrap();
    }
    let expected = [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 5, 6, 7, 7, 7, 0xff];
    assert_eq!(stream.clone_dtoh(&data).unwrap(), expected);
}

fn a_kernel_from_ptx_computes_what_its_twin_does() {
    let context = context();
    let stream = context.new_stream().unwrap();
    for stage in Stage::ALL {
        let map = map(&context, stage);
        let mut data = stream.clone_htod(&numbers(100_003)).unwrap();
        launch(&stream, &map, &mut data, 77);
        assert!(
            stream.clone_dtoh(&data).unwrap() == mapped(stage, 77, &numbers(100_003)),
            "{stage:?}"
        );
    }
}

fn a_query_says_not_ready_until_the_work_is_done() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::A);
    let mut data = stream.alloc_zeros::<u32>(MILLION).unwrap();
    launch(&stream, &map, &mut data, LONG);
    let event = stream.record_event(None).unwrap();
    assert!(!event.is_complete());
    // SAFETY: the stream is live.
    let ready = || unsafe { sys::cuStreamQuery(stream.cu_stream()) };
    assert_eq!(ready(), sys::CUresult::CUDA_ERROR_NOT_READY);
    let mut asked = 0;
    while !event.is_complete() {
        asked += 1;
        assert!(asked < 1_000_000, "asking takes time, so the work ends at some point");
    }
    assert_eq!(ready(), sys::CUresult::CUDA_SUCCESS);
}

fn a_host_function_runs_in_stream_order() {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn look(data: *mut std::ffi::c_void) {
        // SAFETY: the word lives until the stream has been synchronised.
        SEEN.store(unsafe { *data.cast::<u32>() }, Ordering::Relaxed);
        // SAFETY: a plain call, which must be refused rather than wait for itself.
        let refused = unsafe { sys::cuCtxSynchronize() };
        assert_eq!(refused, sys::CUresult::CUDA_ERROR_NOT_PERMITTED);
    }
    let context = context();
    let stream = context.new_stream().unwrap();
    let source = stream.clone_htod(&[41u32; 64]).unwrap();
    let mut host = lab::HostBlock::new(&context, lab::HostMemory::Pinned, 64).unwrap();
    host.words_mut().unwrap().fill(0);
    stream.memcpy_dtoh(&source, &mut host).unwrap();
    let word = host.words_mut().unwrap().as_mut_ptr();
    // SAFETY: function and word live until the stream has been synchronised.
    unsafe { sys::cuLaunchHostFunc(stream.cu_stream(), Some(look), word.cast()) }.result().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(SEEN.load(Ordering::Relaxed), 41);
}

fn a_missing_wait_gives_wrong_data_and_a_wait_right() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let result = |ordered: bool| {
        let mut data = first.clone_htod(&numbers(MILLION)).unwrap();
        first.synchronize().unwrap();
        launch(&first, &map, &mut data, 1001);
        if ordered {
            second.wait(&first.record_event(None).unwrap()).unwrap();
        }
        second.clone_dtoh(&data).unwrap()
    };
    assert!(result(false) == numbers(MILLION), "without a wait the copy is there first");
    assert!(result(true) == mapped(Stage::A, 1001, &numbers(MILLION)));
}

fn reads_happen_at_the_start_and_writes_at_the_end() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut data = first.clone_htod(&vec![5u32; MILLION]).unwrap();
    first.synchronize().unwrap();
    launch(&first, &map, &mut data, LONG);
    // While the kernel runs, a memset comes and goes: the kernel has read before, and writes after.
    second.memset_zeros(&mut data).unwrap();
    context.synchronize().unwrap();
    assert!(first.clone_dtoh(&data).unwrap() == mapped(Stage::A, LONG, &vec![5; MILLION]));
}

fn the_default_stream_holds_blocking_streams_back() {
    let context = context();
    let map = map(&context, Stage::A);
    let default = context.default_stream();
    for (flags, held) in
        [(CUstream_flags::CU_STREAM_DEFAULT, true), (CUstream_flags::CU_STREAM_NON_BLOCKING, false)]
    {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a handle.
        unsafe { sys::cuStreamCreate(&mut handle, flags as u32) }.result().unwrap();
        // SAFETY: the stream is live for as long as the borrowed one.
        let stream = unsafe { context.wrap_borrowed_stream(handle) };
        let mut data = default.clone_htod(&vec![5u32; MILLION]).unwrap();
        context.synchronize().unwrap();
        launch(&default, &map, &mut data, 1001);
        let seen = stream.clone_dtoh(&data).unwrap();
        assert_eq!(seen[0] != 5, held, "{flags:?}");
        context.synchronize().unwrap();
    }
}

fn a_wait_binds_to_the_record_before_it() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut data = first.clone_htod(&vec![5u32; MILLION]).unwrap();
    let event = context.new_event(None).unwrap();
    // Never recorded: no wait at all.
    second.wait(&event).unwrap();
    event.record(&first).unwrap();
    second.wait(&event).unwrap();
    launch(&first, &map, &mut data, LONG);
    // Recorded again: the wait above keeps to the first record, which is before the kernel.
    event.record(&first).unwrap();
    assert!(second.clone_dtoh(&data).unwrap() == vec![5; MILLION]);
    second.wait(&event).unwrap();
    assert!(second.clone_dtoh(&data).unwrap() == mapped(Stage::A, LONG, &vec![5; MILLION]));
}

fn stages_twice_or_in_the_wrong_order_show_in_the_data() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let (a, b) = (map(&context, Stage::A), map(&context, Stage::B));
    let result = |stages: &[&CudaFunction], rounds: u32| {
        let mut data = stream.clone_htod(&numbers(1000)).unwrap();
        for stage in stages {
            launch(&stream, stage, &mut data, rounds);
        }
        stream.clone_dtoh(&data).unwrap()
    };
    let right = result(&[&a, &b], 101);
    let differs = |other: Vec<u32>| right.iter().zip(&other).all(|(right, other)| right != other);
    assert!(differs(result(&[&a, &a, &b], 101)), "a stage twice");
    assert!(differs(result(&[&b, &a], 101)), "the wrong order");
    assert!(differs(result(&[&a], 202)), "one stage with the rounds of both");
    // Constants cannot be passed at all: the entries have a pointer, a pointer, a count and rounds.
    for stage in Stage::ALL {
        assert_eq!(kernels::find(stage.name()).unwrap().parameters.len(), 4);
    }
}
