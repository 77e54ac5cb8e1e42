//! What misuse comes back with.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{self, CUresult};

use crate::bench::{Bench, Event, Kind, Memory, Pinned, Stream, cu, launch_raw};
use crate::row::{Fact, INVALID_HANDLE, INVALID_VALUE, Result, Row, SUCCESS};

const KIND: Kind = Kind::NonBlocking;
const BYTES: usize = 4096;

const DISABLE_TIMING: u32 = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
const INTERPROCESS: u32 = sys::CUevent_flags::CU_EVENT_INTERPROCESS as u32;
/// `CU_EVENT_RECORD_EXTERNAL`, `CU_EVENT_WAIT_EXTERNAL`
const EXTERNAL: u32 = 1;
const ILLEGAL_STATE: Fact = Fact::Code(CUresult::CUDA_ERROR_ILLEGAL_STATE);

/// What a launch with these blocks, threads and bytes of shared memory comes back with.
fn launch(bench: &Bench, shape: [u32; 3]) -> Result<Vec<Fact>> {
    let (stream, memory) = (Stream::new(KIND)?, Memory::new(BYTES)?);
    let code = launch_raw(bench.kernel, stream.handle(), shape, memory.address(), 1024, 1);
    bench.synchronize()?;
    Ok(vec![Fact::Code(code)])
}

/// A stream that has been destroyed.
fn destroyed() -> Result<sys::CUstream> {
    let stream = Stream::new(KIND)?;
    let handle = stream.handle();
    stream.destroy()?;
    Ok(handle)
}

/// An event that has been destroyed.
fn destroyed_event() -> Result<sys::CUevent> {
    let event = Event::new()?;
    let handle = event.handle();
    event.destroy()?;
    Ok(handle)
}

fn code(code: CUresult) -> Result<Vec<Fact>> {
    Ok(vec![Fact::Code(code)])
}

pub(super) fn rows() -> Vec<Row> {
    let name = |what: &str| format!("codes: {what}");
    vec![
        Row::new(name("cuMemAlloc of nothing"), &[INVALID_VALUE], |_| {
            let mut address = 0;
            code(cu!(cuMemAlloc_v2(&mut address, 0)))
        }),
        Row::new(name("cuMemAllocAsync of nothing"), &[SUCCESS], |_| {
            let (stream, mut address) = (Stream::new(KIND)?, 0);
            code(cu!(cuMemAllocAsync(&mut address, 0, stream.handle())))
        }),
        Row::new(name("cuMemHostAlloc of nothing"), &[SUCCESS], |_| {
            let mut address = ptr::null_mut();
            code(cu!(cuMemHostAlloc(&mut address, 0, 0)))
        }),
        Row::new(name("cuMemFree of no address"), &[SUCCESS], |_| code(cu!(cuMemFree_v2(0)))),
        Row::new(name("cuMemFreeAsync of no address"), &[SUCCESS], |_| {
            let stream = Stream::new(KIND)?;
            code(cu!(cuMemFreeAsync(0, stream.handle())))
        })
        .alone(),
        Row::new(name("cuMemFree twice"), &[INVALID_VALUE], |_| {
            let memory = Memory::new(BYTES)?;
            let address = memory.address();
            memory.free()?;
            code(cu!(cuMemFree_v2(address)))
        })
        .alone(),
        Row::new(name("cuMemFree of an address inside a block"), &[INVALID_VALUE], |_| {
            let memory = Memory::new(BYTES)?;
            code(cu!(cuMemFree_v2(memory.address() + 512)))
        })
        .alone(),
        Row::new(name("cuMemFreeHost of ordinary memory"), &[INVALID_VALUE], |_| {
            let mut word = 1_u32;
            code(cu!(cuMemFreeHost((&raw mut word).cast())))
        })
        .alone(),
        Row::new(name("cuMemFreeHost twice"), &[INVALID_VALUE], |_| {
            let pinned = Pinned::new(BYTES)?;
            let address = pinned.address();
            pinned.free()?;
            code(cu!(cuMemFreeHost(address)))
        })
        .alone(),
        Row::new(name("a copy of nothing"), &[SUCCESS], |_| {
            let (memory, host) = (Memory::new(BYTES)?, [1_u8; 4]);
            code(cu!(cuMemcpyHtoD_v2(memory.address(), host.as_ptr().cast(), 0)))
        }),
        Row::new(name("a copy to memory that was freed"), &[INVALID_VALUE], |_| {
            let (memory, host) = (Memory::new(64 << 20)?, [1_u8; 4]);
            let address = memory.address();
            memory.free()?;
            code(cu!(cuMemcpyHtoD_v2(address, host.as_ptr().cast(), 4)))
        })
        .alone(),
        Row::new(name("a memset of nothing"), &[SUCCESS], |_| {
            let memory = Memory::new(BYTES)?;
            code(cu!(cuMemsetD8_v2(memory.address(), 1, 0)))
        }),
        Row::new(name("a memset of words at an odd address"), &[INVALID_VALUE], |_| {
            let memory = Memory::new(BYTES)?;
            code(cu!(cuMemsetD32_v2(memory.address() + 1, 1, 4)))
        })
        .alone(),
        Row::new(name("a launch of 2048 threads"), &[INVALID_VALUE], |bench| {
            launch(bench, [1, 2048, 0])
        })
        .alone(),
        Row::new(name("a launch of no blocks"), &[INVALID_VALUE], |bench| {
            launch(bench, [0, 256, 0])
        })
        .alone(),
        Row::new(name("a launch of no threads"), &[INVALID_VALUE], |bench| {
            launch(bench, [1, 0, 0])
        })
        .alone(),
        Row::new(
            name("a launch of more threads than the kernel was built for"),
            &[INVALID_VALUE],
            |bench| launch(bench, [1, 512, 0]),
        )
        .alone(),
        Row::new(name("a launch with 1 MiB of shared memory"), &[INVALID_VALUE], |bench| {
            launch(bench, [1, 256, 1 << 20])
        })
        .alone(),
        Row::new(
            name("a launch with 64 KiB of shared memory that nobody allowed"),
            &[INVALID_VALUE],
            |bench| launch(bench, [1, 256, 64 << 10]),
        )
        .alone(),
        Row::new(
            name("a launch with 64 KiB of shared memory that cuFuncSetAttribute allowed"),
            &[SUCCESS],
            |bench| {
                let dynamic =
                    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                cu!(cuFuncSetAttribute(bench.kernel, dynamic, 64 << 10)).result()?;
                launch(bench, [1, 256, 64 << 10])
            },
        )
        .alone(),
        Row::new(
            name("a function that the module lacks"),
            &[Fact::Code(CUresult::CUDA_ERROR_NOT_FOUND)],
            |bench| {
                let mut function = ptr::null_mut();
                code(cu!(cuModuleGetFunction(&mut function, bench.module, c"map_z".as_ptr())))
            },
        ),
        Row::new(
            name("a module that is no PTX"),
            &[Fact::Code(CUresult::CUDA_ERROR_INVALID_IMAGE)],
            |_| {
                let mut module = ptr::null_mut();
                code(cu!(cuModuleLoadData(&mut module, c"a swimmer in a stream".as_ptr().cast())))
            },
        )
        .alone(),
        Row::new(name("a stream with flags that nobody knows"), &[INVALID_VALUE], |_| {
            let mut stream = ptr::null_mut();
            code(cu!(cuStreamCreate(&mut stream, 0x40)))
        }),
        Row::new(name("an event with flags that nobody knows"), &[INVALID_VALUE], |_| {
            let mut event = ptr::null_mut();
            code(cu!(cuEventCreate(&mut event, 0x40)))
        }),
        Row::new(name("an event for other processes that keeps time"), &[INVALID_VALUE], |_| {
            let mut event = ptr::null_mut();
            code(cu!(cuEventCreate(&mut event, INTERPROCESS)))
        }),
        Row::new(name("an event for other processes that keeps no time"), &[SUCCESS], |_| {
            let mut event = ptr::null_mut();
            let made = cu!(cuEventCreate(&mut event, INTERPROCESS | DISABLE_TIMING));
            cu!(cuEventDestroy_v2(event)).result()?;
            code(made)
        }),
        Row::new(name("a record with flags that nobody knows"), &[INVALID_VALUE], |_| {
            let (stream, event) = (Stream::new(KIND)?, Event::new()?);
            code(cu!(cuEventRecordWithFlags(event.handle(), stream.handle(), 0x40)))
        }),
        // `cuda.h` calls the flag invalid outside of a capture; the code is another one.
        Row::new(name("an external record outside of a capture"), &[ILLEGAL_STATE], |_| {
            let (stream, event) = (Stream::new(KIND)?, Event::new()?);
            code(cu!(cuEventRecordWithFlags(event.handle(), stream.handle(), EXTERNAL)))
        }),
        Row::new(name("an external wait outside of a capture"), &[ILLEGAL_STATE], |_| {
            let stream = Stream::new(KIND)?;
            let event = Event::recorded(stream.handle())?;
            code(cu!(cuStreamWaitEvent(stream.handle(), event.handle(), EXTERNAL)))
        }),
        Row::new(name("a wait with flags that nobody knows"), &[INVALID_VALUE], |_| {
            let (stream, event) = (Stream::new(KIND)?, Event::new()?);
            code(cu!(cuStreamWaitEvent(stream.handle(), event.handle(), 0x40)))
        }),
        Row::new(
            name("a device that is not there"),
            &[Fact::Code(CUresult::CUDA_ERROR_INVALID_DEVICE)],
            |_| {
                let mut device = 0;
                code(cu!(cuDeviceGet(&mut device, 99)))
            },
        ),
        Row::new(name("destroying the default stream"), &[INVALID_HANDLE], |_| {
            code(cu!(cuStreamDestroy_v2(ptr::null_mut())))
        })
        .alone(),
        Row::new(name("recording no event"), &[INVALID_HANDLE], |_| {
            let stream = Stream::new(KIND)?;
            code(cu!(cuEventRecord(ptr::null_mut(), stream.handle())))
        })
        .alone(),
        Row::new(name("synchronizing a stream that was destroyed"), &[INVALID_HANDLE], |_| {
            code(cu!(cuStreamSynchronize(destroyed()?)))
        })
        .undefined(),
        Row::new(name("destroying a stream twice"), &[INVALID_HANDLE], |_| {
            code(cu!(cuStreamDestroy_v2(destroyed()?)))
        })
        .undefined(),
        Row::new(name("launching on a stream that was destroyed"), &[INVALID_HANDLE], |bench| {
            code(launch_raw(bench.kernel, destroyed()?, [1, 256, 0], 0, 0, 1))
        })
        .undefined(),
        Row::new(
            name("querying an event that was destroyed"),
            &[Fact::Code(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)],
            |_| code(cu!(cuEventQuery(destroyed_event()?))),
        )
        .alone(),
        Row::new(
            name("waiting for an event that was destroyed"),
            &[Fact::Code(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)],
            |_| {
                let stream = Stream::new(KIND)?;
                code(cu!(cuStreamWaitEvent(stream.handle(), destroyed_event()?, 0)))
            },
        )
        .alone(),
        Row::new(
            name("a host function that calls the driver"),
            &[Fact::Code(CUresult::CUDA_ERROR_NOT_PERMITTED)],
            |bench| {
                static SEEN: AtomicU32 = AtomicU32::new(0);
                unsafe extern "C" fn call(_data: *mut std::ffi::c_void) {
                    let mut address = 0;
                    let code = cu!(cuMemAlloc_v2(&mut address, 4096));
                    SEEN.store(code as u32, Ordering::Relaxed);
                }
                let stream = Stream::new(KIND)?;
                cu!(cuLaunchHostFunc(stream.handle(), Some(call), ptr::null_mut())).result()?;
                stream.synchronize()?;
                bench.synchronize()?;
                let not_permitted = CUresult::CUDA_ERROR_NOT_PERMITTED;
                let seen = SEEN.load(Ordering::Relaxed);
                let answer = if seen == not_permitted as u32 {
                    not_permitted
                } else if seen == 0 {
                    CUresult::CUDA_SUCCESS
                } else {
                    CUresult::CUDA_ERROR_UNKNOWN
                };
                Ok(vec![Fact::Code(answer)])
            },
        )
        .alone(),
    ]
}
