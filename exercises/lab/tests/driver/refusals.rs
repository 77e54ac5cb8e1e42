//! What is refused, and how.

use std::io::{Read, Seek};
use std::os::fd::AsRawFd;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;
use kernels::Stage;
use trace::lab_protocol::{Region, Request};

use crate::Case;
use crate::cases::{context, launch, map};

pub(crate) const CASES: &[Case] = &[
    (
        "every_call_that_is_not_modelled_is_refused_by_name",
        every_call_that_is_not_modelled_is_refused_by_name,
    ),
    ("handles_that_are_gone_are_refused", handles_that_are_gone_are_refused),
    ("a_kernel_that_nobody_knows_is_refused", a_kernel_that_nobody_knows_is_refused),
    (
        "a_launch_of_more_threads_than_the_kernel_was_built_for_is_refused",
        a_launch_of_more_threads_than_the_kernel_was_built_for_is_refused,
    ),
    (
        "a_kernel_that_runs_past_the_end_loses_the_context",
        a_kernel_that_runs_past_the_end_loses_the_context,
    ),
    (
        "a_query_finds_the_lost_context_once_the_kernel_has_run",
        a_query_finds_the_lost_context_once_the_kernel_has_run,
    ),
    ("ranges_and_shapes_that_cannot_be_are_refused", ranges_and_shapes_that_cannot_be_are_refused),
    ("memory_that_is_not_there_is_refused_with_a_reason", memory_that_is_not_there_is_refused),
    (
        "a_second_thread_is_refused_inside_a_region_only",
        a_second_thread_is_refused_inside_a_region_only,
    ),
    ("a_scale_after_an_allocation_is_refused", a_scale_after_an_allocation_is_refused),
];

/// What is written to standard error while `body` runs.
fn stderr_of(body: impl FnOnce()) -> String {
    let mut file = tempfile::tempfile().unwrap();
    // SAFETY: plain calls on descriptors of this process, which has no other thread.
    let saved = unsafe {
        let saved = libc::dup(2);
        libc::dup2(file.as_raw_fd(), 2);
        saved
    };
    body();
    // SAFETY: as above.
    unsafe { libc::dup2(saved, 2) };
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

fn every_call_that_is_not_modelled_is_refused_by_name() {
    let _context = context();
    let source = include_str!("../../../../checker/driver/src/abi/passed_through.rs");
    let (_, list) = source.rsplit_once("passed_through! {").unwrap();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert!(names.len() > 400, "{} names", names.len());
    // SAFETY: looks a library up that is loaded.
    let library = unsafe { sys::culib() };
    let said = stderr_of(|| {
        for name in &names {
            // SAFETY: these functions take nothing here: they are refused before they look at anything.
            let code = unsafe {
                let call: libloading::Symbol<unsafe extern "C" fn() -> u32> =
                    library.get(name.as_bytes()).unwrap();
                call()
            };
            assert_eq!(code, 801, "{name}");
        }
    });
    assert_eq!(said.lines().count(), names.len());
    for (name, said) in names.iter().zip(said.lines()) {
        let (begin, end) = (
            format!("swim: `{name}` at tests/driver/refusals.rs:"),
            " is not supported by the simulated device",
        );
        assert!(said.starts_with(&begin) && said.ends_with(end), "{said}");
    }
}

fn handles_that_are_gone_are_refused() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let handle = stream.cu_stream();
    drop(stream);
    // SAFETY: the calls are refused.
    unsafe {
        assert_eq!(sys::cuStreamSynchronize(handle), CUresult::CUDA_ERROR_INVALID_HANDLE);
        assert_eq!(
            sys::cuStreamQuery(std::ptr::without_provenance_mut(0x1234)),
            CUresult::CUDA_ERROR_INVALID_HANDLE
        );
        let block = result::malloc_sync(64).unwrap();
        result::free_sync(block).unwrap();
        assert_eq!(result::free_sync(block).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);
        let into_freed = result::memcpy_htod_sync(block, &[0u8; 4]);
        assert_eq!(into_freed.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);
        let block = result::malloc_sync(64).unwrap();
        let beyond = result::memcpy_htod_sync(block + 62, &[0u8; 4]);
        assert_eq!(beyond.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).unwrap();
        result::event::destroy(event).unwrap();
        let gone = CUresult::CUDA_ERROR_INVALID_HANDLE;
        let destroyed = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
        assert_eq!(result::event::query(event).unwrap_err().0, destroyed);
        assert_eq!(result::event::destroy(event).unwrap_err().0, destroyed);
        assert_eq!(sys::cuEventRecord(event, std::ptr::null_mut()), destroyed);
        assert_eq!(sys::cuStreamWaitEvent(std::ptr::null_mut(), event, 0), destroyed);
        assert_eq!(sys::cuEventSynchronize(event), destroyed);
        assert_eq!(sys::cuEventQuery(std::ptr::null_mut()), gone, "nobody gave it");
        assert_eq!(sys::cuStreamDestroy_v2(handle), gone);
        assert_eq!(sys::cuMemsetD8Async(block, 0, 1, handle), gone);
    }
}

fn a_kernel_that_nobody_knows_is_refused() {
    let context = context();
    let ptx = ".version 8.0\n.target sm_70\n.visible .entry mine(\n.param .u64 a\n)\n{ ret; }\n";
    let module = context.load_module(Ptx::from_src(ptx)).unwrap();
    assert_eq!(module.load_function("yours").unwrap_err().0, CUresult::CUDA_ERROR_NOT_FOUND);
    let said = stderr_of(|| {
        assert_eq!(module.load_function("mine").unwrap_err().0, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    });
    assert!(said.contains("no kernel `mine`"), "{said}");
}

fn a_launch_of_more_threads_than_the_kernel_was_built_for_is_refused() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let module = context.load_module(Ptx::from_src(kernels::matmul::IMAGE)).unwrap();
    let matmul = module.load_function("matmul_1024").unwrap();
    let data = stream.alloc_zeros::<u32>(1 << 20).unwrap();
    let code = |threads| {
        let config =
            LaunchConfig { grid_dim: (128, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(&matmul);
        launch.arg(&data).arg(&data).arg(&data);
        // SAFETY: the arguments are those of the kernel.
        unsafe { launch.launch(config) }.map_err(|error| error.0).err()
    };
    assert_eq!(code(128), None);
    // The image says how many threads it was built for.
    assert_eq!(code(256), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    stream.synchronize().unwrap();
}

/// Launches a kernel over one element more than there are. It is accepted.
fn launch_beyond(
    stream: &std::sync::Arc<cudarc::driver::CudaStream>,
    map: &cudarc::driver::CudaFunction,
) {
    let data = stream.alloc_zeros::<u32>(64).unwrap();
    let (n, rounds) = (65u32, 1u32);
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(map);
    launch.arg(&data).arg(&data).arg(&n).arg(&rounds);
    // SAFETY: that it runs past the end is what it is for.
    unsafe { launch.launch(config) }.map(drop).unwrap();
    // Its memory is to be live for as long as it runs.
    std::mem::forget(data);
}

fn a_kernel_that_runs_past_the_end_loses_the_context() {
    const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
    let context = context();
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::B);
    let mut before = stream.clone_htod(&vec![5u32; 1 << 20]).unwrap();
    let mut after = before.clone();
    context.synchronize().unwrap();
    let said = stderr_of(|| {
        launch(&stream, &map, &mut before, 150_001);
        launch_beyond(&stream, &map);
        // It has not run yet: nothing is wrong so far.
        let event = other.record_event(None).unwrap();
        event.synchronize().unwrap();
        let block = unsafe_alloc();
        launch(&stream, &map, &mut after, 1);
        assert_eq!(stream.synchronize().unwrap_err().0, ILLEGAL);
        // It does not go away.
        assert_eq!(stream.synchronize().unwrap_err().0, ILLEGAL);
        assert_eq!(other.synchronize().unwrap_err().0, ILLEGAL);
        assert_eq!(context.synchronize().unwrap_err().0, ILLEGAL);
        // SAFETY: all of these are refused.
        unsafe {
            assert_eq!(sys::cuEventQuery(event.cu_event()), ILLEGAL);
            assert_eq!(result::malloc_sync(64).unwrap_err().0, ILLEGAL);
            assert_eq!(result::free_sync(block).unwrap_err().0, ILLEGAL);
            assert_eq!(result::mem_get_info().unwrap_err().0, ILLEGAL);
            assert_eq!(result::memcpy_dtoh_sync(&mut [0u8; 4], block).unwrap_err().0, ILLEGAL);
        }
        assert_eq!(context.new_stream().unwrap_err().0, ILLEGAL);
    });
    let told = said.matches("kernel `map_b` reads 260 bytes").count();
    assert_eq!(told, 1, "{said}");
}

/// 64 bytes of device memory.
fn unsafe_alloc() -> sys::CUdeviceptr {
    // SAFETY: nothing is read from it.
    unsafe { result::malloc_sync(64) }.unwrap()
}

fn a_query_finds_the_lost_context_once_the_kernel_has_run() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::B);
    context.synchronize().unwrap();
    launch_beyond(&stream, &map);
    let mut asked = 0;
    // SAFETY: the stream is live.
    let query = || unsafe { sys::cuStreamQuery(stream.cu_stream()) };
    let found = loop {
        match query() {
            CUresult::CUDA_ERROR_NOT_READY => asked += 1,
            found => break found,
        }
    };
    assert_eq!(found, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert!(asked > 0, "the launch itself is accepted, and the kernel takes its time");
}

const REASONS: &str = "\
a memset of pinned memory:
swim: ADDRESS is pinned memory of the host: a GPU takes it for memory of the device too, and the simulated device does not
hint: write to it from the host, or use memory of the device in this memset
a memset of freed memory:
swim: the memset uses memory that is not there: it has been freed, or was never allocated
hint: ask for the memset before the memory is freed
a memset that is too long:
swim: the memset of 68 bytes goes beyond the end of the block of memory that it begins in
one of a stream:
swim: ADDRESS is pinned memory of the host: a GPU takes it for memory of the device too, and the simulated device does not
hint: write to it from the host, or use memory of the device in this memset
a copy from freed memory:
swim: the copy uses memory that is not there: it has been freed, or was never allocated
hint: ask for the copy before the memory is freed
a copy that is too long:
swim: the copy of 65 bytes goes beyond the end of the block of memory that it begins in
a copy to pinned memory:
swim: ADDRESS is pinned memory of the host: a GPU takes it for memory of the device too, and the simulated device does not
hint: write to it from the host, or use memory of the device in this copy
";

fn memory_that_is_not_there_is_refused() {
    const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
    let _context = context();
    let (block, freed) = (unsafe_alloc(), unsafe_alloc());
    let mut said = String::new();
    // SAFETY: what is not inside a block of the device is refused.
    unsafe {
        let pinned = result::malloc_host(4096, 0).unwrap() as u64;
        assert_eq!(sys::cuMemFree_v2(freed), CUresult::CUDA_SUCCESS);
        let mut refused = |what: &str, call: &dyn Fn() -> CUresult| {
            let why = stderr_of(|| assert_eq!(call(), INVALID, "{what}"));
            said += &format!("{what}:\n{}", why.replace(&format!("{pinned:#x}"), "ADDRESS"));
        };
        refused("a memset of pinned memory", &|| sys::cuMemsetD8_v2(pinned, 7, 16));
        refused("a memset of freed memory", &|| sys::cuMemsetD32_v2(freed, 7, 16));
        refused("a memset that is too long", &|| sys::cuMemsetD32_v2(block, 7, 17));
        let stream = std::ptr::null_mut();
        refused("one of a stream", &|| sys::cuMemsetD8Async(pinned, 7, 16, stream));
        refused("a copy from freed memory", &|| sys::cuMemcpyDtoD_v2(block, freed, 64));
        refused("a copy that is too long", &|| sys::cuMemcpyDtoD_v2(block, block, 65));
        refused("a copy to pinned memory", &|| sys::cuMemcpyDtoD_v2(pinned, block, 64));
    }
    assert_eq!(said, REASONS);
}

fn ranges_and_shapes_that_cannot_be_are_refused() {
    const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
    let context = context();
    let stream = context.new_stream().unwrap();
    let block = unsafe_alloc();
    // SAFETY: what is not inside the block is refused.
    unsafe {
        let memset = |at, count| sys::cuMemsetD32_v2(at, 7, count);
        assert_eq!(memset(block, 16), CUresult::CUDA_SUCCESS);
        assert_eq!(memset(block, 17), INVALID, "beyond the end");
        assert_eq!(memset(block + 4, 16), INVALID, "beyond the end, from inside");
        assert_eq!(memset(block + 2, 1), INVALID, "not a multiple of four");
        assert_eq!(memset(block, usize::MAX / 2), INVALID, "more bytes than can be counted");
        assert_eq!(memset(block, 0), CUresult::CUDA_SUCCESS, "nothing to do");
        let copied = |bytes| sys::cuMemcpyDtoD_v2(block, block, bytes);
        assert_eq!(copied(64), CUresult::CUDA_SUCCESS);
        assert_eq!(copied(65), INVALID);
        assert_eq!(sys::cuMemFree_v2(block + 16), INVALID, "not the start of a block");
        assert_eq!(sys::cuMemFree_v2(0), CUresult::CUDA_SUCCESS, "nothing is freed");
        assert_eq!(sys::cuMemFreeAsync(block + 16, stream.cu_stream()), INVALID);
        let pinned = result::malloc_host(8192, 0).unwrap();
        assert_eq!(sys::cuMemFreeHost(pinned.byte_add(4096)), INVALID, "not the start either");
        assert_eq!(sys::cuMemFreeHost(pinned), CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuMemFreeHost(pinned), INVALID, "a second time");
        result::free_async(block, stream.cu_stream()).unwrap();
        assert_eq!(sys::cuMemFreeAsync(block, stream.cu_stream()), INVALID, "a second time");
    }
    // SAFETY: nothing is allocated, or the call is refused.
    unsafe {
        let mut address = 1;
        let taken = sys::cuMemAllocAsync(&mut address, 0, stream.cu_stream());
        assert_eq!((taken, address), (CUresult::CUDA_SUCCESS, 0), "nothing, in stream order");
        assert_eq!(sys::cuMemFreeAsync(0, stream.cu_stream()), CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuMemAlloc_v2(&mut address, 0), INVALID, "nothing, at once");
        let mut pinned = std::ptr::dangling_mut();
        assert_eq!(sys::cuMemHostAlloc(&mut pinned, 0, 0), CUresult::CUDA_SUCCESS);
        assert!(pinned.is_null(), "nothing, pinned");
        let (mut new, mut event) = (std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(sys::cuStreamCreate(&mut new, 2), INVALID, "flags of a stream");
        assert_eq!(sys::cuStreamCreateWithPriority(&mut new, 4, 0), INVALID);
        assert_eq!(sys::cuEventCreate(&mut event, 8), INVALID, "flags of an event");
        assert_eq!(sys::cuStreamWaitEvent(stream.cu_stream(), event, 2), INVALID);
    }
    let map = map(&context, Stage::A);
    let data = stream.alloc_zeros::<u32>(64).unwrap();
    let (n, rounds) = (64u32, 1u32);
    let shaped = |grid_dim, block_dim, shared_mem_bytes| {
        let mut launch = stream.launch_builder(&map);
        launch.arg(&data).arg(&data).arg(&n).arg(&rounds);
        // SAFETY: the arguments are those of the kernel.
        unsafe { launch.launch(LaunchConfig { grid_dim, block_dim, shared_mem_bytes }) }
            .map_err(|error| error.0)
            .map(drop)
    };
    assert_eq!(shaped((1, 1, 1), (64, 1, 1), 0), Ok(()));
    for grid in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1 << 31, 1, 1), (1, 1 << 16, 1)] {
        assert_eq!(shaped(grid, (64, 1, 1), 0), Err(INVALID), "a grid of {grid:?}");
    }
    for block in [(0, 1, 1), (1025, 1, 1), (32, 33, 1), (1, 1, 65), (u32::MAX, u32::MAX, 2)] {
        assert_eq!(shaped((1, 1, 1), block, 0), Err(INVALID), "a block of {block:?}");
    }
    for bytes in [1 << 20, u32::MAX] {
        assert_eq!(shaped((1, 1, 1), (64, 1, 1), bytes), Err(INVALID), "{bytes} shared bytes");
    }
    stream.synchronize().unwrap();
}

fn a_second_thread_is_refused_inside_a_region_only() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let from_another_thread = || {
        let stream = stream.clone();
        std::thread::spawn(move || stream.synchronize()).join().unwrap()
    };
    from_another_thread().unwrap();
    lab::driver::ask(&Request::RegionBegin(Region::default())).unwrap();
    assert_eq!(from_another_thread().unwrap_err().0, CUresult::CUDA_ERROR_NOT_PERMITTED);
    stream.synchronize().unwrap();
    lab::driver::ask(&Request::RegionEnd).unwrap();
    from_another_thread().unwrap();
}

fn a_scale_after_an_allocation_is_refused() {
    let context = context();
    lab::driver::ask(&Request::Scale { scale: 4 }).unwrap();
    let stream = context.new_stream().unwrap();
    let mut data = stream.alloc_zeros::<u32>(64).unwrap();
    assert!(lab::driver::ask(&Request::Scale { scale: 8 }).is_err());
    launch(&stream, &map(&context, Stage::A), &mut data, 1);
}
