//! What is refused, and how.

use std::io::{Read, Seek};
use std::os::fd::AsRawFd;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;
use kernels::Stage;
use trace::lab::{Region, Request};

use crate::Case;
use crate::cases::{context, launch, map};

pub(crate) const CASES: &[Case] = &[
    (
        "every_call_that_is_not_modelled_is_refused_by_name",
        every_call_that_is_not_modelled_is_refused_by_name,
    ),
    ("handles_that_are_gone_are_refused", handles_that_are_gone_are_refused),
    ("a_kernel_that_nobody_knows_is_refused", a_kernel_that_nobody_knows_is_refused),
    ("a_launch_that_cannot_fit_is_refused", a_launch_that_cannot_fit_is_refused),
    (
        "memory_that_is_not_there_is_refused_by_the_kernels_name",
        memory_that_is_not_there_is_refused,
    ),
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
    let expected: String = names
        .iter()
        .map(|name| format!("swim: `{name}` is not supported by the simulated device\n"))
        .collect();
    assert_eq!(said, expected);
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
        assert_eq!(result::event::query(event).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_HANDLE);
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

fn a_launch_that_cannot_fit_is_refused() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::A);
    let data = stream.alloc_zeros::<u32>(64).unwrap();
    let (n, rounds) = (64u32, 1u32);
    let code = |threads, shared_mem_bytes| {
        let config =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes };
        let mut launch = stream.launch_builder(&map);
        launch.arg(&data).arg(&data).arg(&n).arg(&rounds);
        // SAFETY: the arguments are those of the kernel.
        unsafe { launch.launch(config) }.map_err(|error| error.0).err()
    };
    assert_eq!(code(256, 0), None);
    assert_eq!(code(2048, 0), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert_eq!(code(256, 1 << 20), Some(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
    stream.synchronize().unwrap();
}

fn memory_that_is_not_there_is_refused() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::B);
    let data = stream.alloc_zeros::<u32>(64).unwrap();
    let (n, rounds) = (65u32, 1u32);
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let said = stderr_of(|| {
        let mut launch = stream.launch_builder(&map);
        launch.arg(&data).arg(&data).arg(&n).arg(&rounds);
        // SAFETY: the launch is refused.
        let error = unsafe { launch.launch(config) }.map(drop).unwrap_err();
        assert_eq!(error.0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    });
    // In another process it is that process that speaks.
    assert!(said.contains("kernel `map_b` reads 260 bytes"), "{said}");
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
