//! Two devices: what belongs to which, copies between them, and who waits for whom. Documented in the driver API's chapters on
//! primary contexts and on peer access.
//!
//! A machine with one GPU answers the first call with `CUDA_ERROR_INVALID_DEVICE`.

use std::ffi::c_int;
use std::ptr;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUresult};

use crate::bench::{
    Bench, ELEMENTS, Event, Kind, MS, Memory, NULL, Pinned, Stopwatch, Stream, cu, launch_raw,
};
use crate::row::{
    BLOCKED, FREE, Fact, INVALID_HANDLE, INVALID_VALUE, NEW, OLD, Result, Row, SUCCESS,
};

const KIND: Kind = Kind::NonBlocking;
const INVALID_DEVICE: Fact = Fact::Code(CUresult::CUDA_ERROR_INVALID_DEVICE);
const INVALID_CONTEXT: Fact = Fact::Code(CUresult::CUDA_ERROR_INVALID_CONTEXT);
const ALREADY_ENABLED: Fact = Fact::Code(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
const NOT_ENABLED: Fact = Fact::Code(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
const UNSUPPORTED: Fact = Fact::Code(CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
/// Of each block of memory, in bytes.
const BYTES: usize = 1 << 20;

/// The two devices; the second one's context, and what is made with it.
struct Two<'a> {
    bench: &'a Bench,
    first: sys::CUcontext,
    second: sys::CUcontext,
    kernel: sys::CUfunction,
}

impl<'a> Two<'a> {
    fn new(bench: &'a Bench) -> Result<Self> {
        let mut first = ptr::null_mut();
        cu!(cuCtxGetCurrent(&mut first)).result()?;
        let device = result::device::get(1)?;
        // SAFETY: the device is there, and the context is never released.
        let second = unsafe { result::primary_ctx::retain(device)? };
        let mut two = Self { bench, first, second, kernel: ptr::null_mut() };
        let mut module = ptr::null_mut();
        two.there(|| cu!(cuModuleLoadData(&mut module, bench.image())).result())?;
        cu!(cuModuleGetFunction(&mut two.kernel, module, c"map_a".as_ptr())).result()?;
        Ok(two)
    }

    /// With the second device's context.
    fn there<T>(&self, what: impl FnOnce() -> Result<T>) -> Result<T> {
        cu!(cuCtxSetCurrent(self.second)).result()?;
        let made = what();
        cu!(cuCtxSetCurrent(self.first)).result()?;
        made
    }

    /// Keeps the second device busy, on a stream of its own.
    fn busy_there(&self, stream: sys::CUstream) -> Result<Memory> {
        let memory = self.there(|| Memory::new(BYTES))?;
        let rounds = self.bench.rounds(MS);
        let at = memory.address();
        self.there(|| launch_raw(self.kernel, stream, [1, 256, 0], at, ELEMENTS, rounds).result())?;
        Ok(memory)
    }

    fn idle(&self) -> Result<()> {
        self.bench.synchronize()?;
        self.there(|| self.bench.synchronize())
    }

    /// Whether `call` waits for a kernel of the second device.
    fn held(&self, call: impl FnOnce() -> CUresult) -> Result<Vec<Fact>> {
        let stream = self.there(|| Stream::new(KIND))?;
        self.idle()?;
        let _memory = self.busy_there(stream.handle())?;
        let watch = Stopwatch::start();
        let code = call();
        let waited = watch.ms() > MS / 2.0;
        self.idle()?;
        Ok(vec![if waited { BLOCKED } else { FREE }, Fact::Code(code)])
    }

    fn peer(&self, to: u64, from: u64, bytes: usize, stream: sys::CUstream) -> CUresult {
        cu!(cuMemcpyPeerAsync(to, self.second, from, self.first, bytes, stream))
    }

    fn access(&self) -> CUresult {
        cu!(cuCtxEnablePeerAccess(self.second, 0))
    }

    fn no_access(&self) -> CUresult {
        cu!(cuCtxDisablePeerAccess(self.second))
    }

    /// Memory of the second device's pool.
    fn pooled(&self) -> Result<u64> {
        let stream = self.there(|| Stream::new(KIND))?;
        let mut address = 0;
        cu!(cuMemAllocAsync(&mut address, BYTES, stream.handle())).result()?;
        stream.synchronize()?;
        Ok(address)
    }
}

/// A row is asked several times in one process, so what it enabled goes with it.
impl Drop for Two<'_> {
    fn drop(&mut self) {
        let _ = self.no_access();
    }
}

fn row(name: &str, expect: &[Fact], body: impl Fn(&Two<'_>) -> Result<Vec<Fact>> + 'static) -> Row {
    Row::new(format!("two devices: {name}"), expect, move |bench| body(&Two::new(bench)?)).alone()
}

/// A row that is one call, whose code counts.
fn code(name: &str, expect: Fact, body: impl Fn(&Two<'_>) -> Result<CUresult> + 'static) -> Row {
    row(name, &[expect], move |two| {
        let code = body(two)?;
        two.idle()?;
        Ok(vec![Fact::Code(code)])
    })
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = objects();
    rows.extend(memory());
    rows.extend(access());
    rows.extend(waits());
    rows.extend(data());
    rows
}

/// Streams, events and modules belong to a device.
fn objects() -> Vec<Row> {
    vec![
        code("an event of one is not recorded in a stream of the other", INVALID_HANDLE, |two| {
            let (event, stream) = (Event::new()?, two.there(|| Stream::new(KIND))?);
            Ok(cu!(cuEventRecord(event.handle(), stream.handle())))
        }),
        code("an event of the stream's device is, whatever is current", SUCCESS, |two| {
            let event = two.there(Event::new)?;
            let stream = two.there(|| Stream::new(KIND))?;
            Ok(cu!(cuEventRecord(event.handle(), stream.handle())))
        }),
        code("the default stream is that of the current context", INVALID_HANDLE, |two| {
            let event = Event::new()?;
            two.there(|| Ok(cu!(cuEventRecord(event.handle(), NULL))))
        }),
        code("a stream waits for an event of the other device", SUCCESS, |two| {
            let (stream, there) = (Stream::new(KIND)?, two.there(|| Stream::new(KIND))?);
            let event = two.there(|| Event::recorded(there.handle()))?;
            Ok(cu!(cuStreamWaitEvent(stream.handle(), event.handle(), 0)))
        }),
        code("no time passes between events of two devices", INVALID_HANDLE, |two| {
            let (stream, there) = (Stream::new(KIND)?, two.there(|| Stream::new(KIND))?);
            let first = Event::recorded(stream.handle())?;
            let second = two.there(|| Event::recorded(there.handle()))?;
            two.idle()?;
            let mut ms = 0.0;
            Ok(cu!(cuEventElapsedTime_v2(&mut ms, first.handle(), second.handle())))
        }),
        code("a stream of the other device is queried", SUCCESS, |two| {
            let stream = two.there(|| Stream::new(KIND))?;
            Ok(cu!(cuStreamQuery(stream.handle())))
        }),
        code("a kernel of one is not launched in a stream of the other", INVALID_HANDLE, |two| {
            let stream = two.there(|| Stream::new(KIND))?;
            let at = two.bench.scratch();
            Ok(launch_raw(two.bench.kernel, stream.handle(), [1, 256, 0], at, ELEMENTS, 1))
        }),
        code(
            "a kernel is launched in a stream of its device, whatever is current",
            SUCCESS,
            |two| {
                let stream = two.there(|| Stream::new(KIND))?;
                let memory = two.there(|| Memory::new(BYTES))?;
                let at = memory.address();
                let launched =
                    launch_raw(two.kernel, stream.handle(), [1, 256, 0], at, ELEMENTS, 1);
                two.idle()?;
                Ok(launched)
            },
        ),
        code(
            "a kernel of the other device is not launched in the default stream",
            INVALID_HANDLE,
            |two| {
                let memory = two.there(|| Memory::new(BYTES))?;
                Ok(launch_raw(two.kernel, NULL, [1, 256, 0], memory.address(), ELEMENTS, 1))
            },
        ),
        code("there is no third device", INVALID_DEVICE, |_| {
            let mut device = 0;
            Ok(cu!(cuDeviceGet(&mut device, 2)))
        }),
        row(
            "the current context says which device it is of",
            &[Fact::Number(0), Fact::Number(1)],
            |two| {
                let device = || {
                    let mut device: c_int = -1;
                    cu!(cuCtxGetDevice(&mut device)).result()?;
                    Ok(Fact::Number(device))
                };
                Ok(vec![device()?, two.there(device)?])
            },
        ),
    ]
}

/// What an operation of one device may do with memory of the other.
fn memory() -> Vec<Row> {
    vec![
        code("a memset of the other's memory is refused without access", INVALID_VALUE, |two| {
            let (stream, memory) = (Stream::new(KIND)?, two.there(|| Memory::new(BYTES))?);
            Ok(cu!(cuMemsetD8Async(memory.address(), 1, BYTES, stream.handle())))
        }),
        code("with access it is not", SUCCESS, |two| {
            let (stream, memory) = (Stream::new(KIND)?, two.there(|| Memory::new(BYTES))?);
            two.access().result()?;
            let code = cu!(cuMemsetD8Async(memory.address(), 1, BYTES, stream.handle()));
            two.idle()?;
            Ok(code)
        }),
        code("an upload to the other's memory needs no access", SUCCESS, |two| {
            let (stream, memory) = (Stream::new(KIND)?, two.there(|| Memory::new(BYTES))?);
            let host = Pinned::new(BYTES)?;
            let code =
                cu!(cuMemcpyHtoDAsync_v2(memory.address(), host.address(), BYTES, stream.handle()));
            two.idle()?;
            Ok(code)
        }),
        code("an upload to memory of the other's pool does", INVALID_VALUE, |two| {
            let (stream, host) = (Stream::new(KIND)?, Pinned::new(BYTES)?);
            let at = two.pooled()?;
            Ok(cu!(cuMemcpyHtoDAsync_v2(at, host.address(), BYTES, stream.handle())))
        }),
        code("a copy between the two by their addresses needs no access", SUCCESS, |two| {
            let (stream, from) = (Stream::new(KIND)?, Memory::new(BYTES)?);
            let to = two.there(|| Memory::new(BYTES))?;
            let code =
                cu!(cuMemcpyDtoDAsync_v2(to.address(), from.address(), BYTES, stream.handle()));
            two.idle()?;
            Ok(code)
        }),
        code("a copy to the other's pool by its address does", INVALID_VALUE, |two| {
            let (stream, from) = (Stream::new(KIND)?, Memory::new(BYTES)?);
            let to = two.pooled()?;
            Ok(cu!(cuMemcpyDtoDAsync_v2(to, from.address(), BYTES, stream.handle())))
        }),
        code("a peer copy to the other's pool needs none", SUCCESS, |two| {
            let (stream, from) = (Stream::new(KIND)?, Memory::new(BYTES)?);
            let to = two.pooled()?;
            Ok(two.peer(to, from.address(), BYTES, stream.handle()))
        }),
        code("the contexts of a peer copy may be swapped", SUCCESS, |two| {
            let (stream, from) = (Stream::new(KIND)?, Memory::new(BYTES)?);
            let to = two.there(|| Memory::new(BYTES))?;
            let code = cu!(cuMemcpyPeerAsync(
                to.address(),
                two.first,
                from.address(),
                two.second,
                BYTES,
                stream.handle()
            ));
            two.idle()?;
            Ok(code)
        }),
        code("a peer copy of nothing is nothing", SUCCESS, |two| {
            let (stream, from) = (Stream::new(KIND)?, Memory::new(BYTES)?);
            let to = two.there(|| Memory::new(BYTES))?;
            Ok(two.peer(to.address(), from.address(), 0, stream.handle()))
        }),
        code("a peer copy beyond the end of a block is refused", INVALID_VALUE, |two| {
            let (stream, from) = (Stream::new(KIND)?, Memory::new(BYTES)?);
            let to = two.there(|| Memory::new(BYTES))?;
            Ok(two.peer(
                to.address() + BYTES as u64 * 64 - 4,
                from.address(),
                BYTES * 64,
                stream.handle(),
            ))
        }),
        code("memory of the other device is freed, whatever is current", SUCCESS, |two| {
            two.there(|| Memory::new(BYTES))?.free().map(|()| CUresult::CUDA_SUCCESS)
        }),
    ]
}

/// Peer access and its codes.
fn access() -> Vec<Row> {
    let can = |name: &str, expect: &[Fact], of: c_int, to: c_int| {
        row(name, expect, move |_| {
            let mut can = -1;
            let code = cu!(cuDeviceCanAccessPeer(&mut can, of, to));
            Ok(vec![Fact::Code(code), Fact::Number(can)])
        })
    };
    vec![
        can("each can have access to the other", &[SUCCESS, Fact::Number(1)], 0, 1),
        can("none to itself", &[SUCCESS, Fact::Number(0)], 1, 1),
        code("access is enabled once", ALREADY_ENABLED, |two| {
            two.access().result()?;
            Ok(two.access())
        }),
        code("what is not enabled is not disabled", NOT_ENABLED, |two| Ok(two.no_access())),
        code("access is for one direction", NOT_ENABLED, |two| {
            two.access().result()?;
            two.there(|| Ok(cu!(cuCtxDisablePeerAccess(two.first))))
        }),
        code("access can be enabled again", SUCCESS, |two| {
            two.access().result()?;
            two.no_access().result()?;
            Ok(two.access())
        }),
        code("access to itself is refused", UNSUPPORTED, |two| {
            Ok(cu!(cuCtxEnablePeerAccess(two.first, 0)))
        }),
        code("access with flags is refused", INVALID_VALUE, |two| {
            Ok(cu!(cuCtxEnablePeerAccess(two.second, 1)))
        }),
        code("access to no context is refused", INVALID_CONTEXT, |_| {
            Ok(cu!(cuCtxEnablePeerAccess(ptr::null_mut(), 0)))
        }),
        code("access to a pool is enabled as often as one likes", SUCCESS, |two| {
            let mut pool = ptr::null_mut();
            cu!(cuDeviceGetDefaultMemPool(&mut pool, 1)).result()?;
            let _ = two;
            let location = sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: 0,
            };
            let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            let description = sys::CUmemAccessDesc { location, flags };
            cu!(cuMemPoolSetAccess(pool, &description, 1)).result()?;
            Ok(cu!(cuMemPoolSetAccess(pool, &description, 1)))
        }),
    ]
}

/// Which calls wait for the other device.
fn waits() -> Vec<Row> {
    vec![
        row("waiting for the context is waiting for its device", &[FREE, SUCCESS], |two| {
            two.held(|| cu!(cuCtxSynchronize()))
        }),
        row("freeing memory waits for the device that it is on", &[BLOCKED, SUCCESS], |two| {
            let memory = two.there(|| Memory::new(BYTES))?;
            two.held(|| memory.free().map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS))
        }),
        row("and for no other", &[FREE, SUCCESS], |two| {
            let memory = Memory::new(BYTES)?;
            two.held(|| memory.free().map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS))
        }),
        row(
            "freeing page-locked memory waits for the device that it was asked for with",
            &[BLOCKED, SUCCESS],
            |two| {
                let pinned = two.there(|| Pinned::new(BYTES))?;
                two.held(|| pinned.free().map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS))
            },
        ),
        row("not for one that is current or busy", &[FREE, SUCCESS], |two| {
            let pinned = Pinned::new(BYTES)?;
            two.held(|| pinned.free().map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS))
        }),
        row("loading a module waits for its device alone", &[FREE, SUCCESS], |two| {
            two.held(|| {
                let mut module = ptr::null_mut();
                cu!(cuModuleLoadData(&mut module, two.bench.image()))
            })
        }),
        row("the default stream waits for none of the other's", &[FREE, SUCCESS], |two| {
            let blocking = two.there(|| Stream::new(Kind::Blocking))?;
            two.idle()?;
            let _memory = two.busy_there(blocking.handle())?;
            let watch = Stopwatch::start();
            let code = cu!(cuStreamSynchronize(NULL));
            let waited = watch.ms() > MS / 2.0;
            two.idle()?;
            Ok(vec![if waited { BLOCKED } else { FREE }, Fact::Code(code)])
        }),
        row("but with a copy between the two in it", &[BLOCKED, SUCCESS], |two| {
            let blocking = two.there(|| Stream::new(Kind::Blocking))?;
            let (from, to) = (Memory::new(BYTES)?, two.there(|| Memory::new(BYTES))?);
            two.idle()?;
            let _memory = two.busy_there(blocking.handle())?;
            let watch = Stopwatch::start();
            two.peer(to.address(), from.address(), BYTES, NULL).result()?;
            let code = cu!(cuStreamSynchronize(NULL));
            let waited = watch.ms() > MS / 2.0;
            two.idle()?;
            Ok(vec![if waited { BLOCKED } else { FREE }, Fact::Code(code)])
        }),
        row("a peer copy does not wait for other streams of either", &[FREE, SUCCESS], |two| {
            let stream = Stream::new(KIND)?;
            let (from, to) = (Memory::new(BYTES)?, two.there(|| Memory::new(BYTES))?);
            two.held(|| {
                let asked = two.peer(to.address(), from.address(), BYTES, stream.handle());
                let waited = cu!(cuStreamSynchronize(stream.handle()));
                if asked == CUresult::CUDA_SUCCESS { waited } else { asked }
            })
        }),
    ]
}

/// What arrives.
fn data() -> Vec<Row> {
    let arrives = |name: &str, expect: Fact, waits: bool, access: bool| {
        row(name, &[expect], move |two| {
            let (stream, there) = (Stream::new(KIND)?, two.there(|| Stream::new(KIND))?);
            let (from, to) = (Memory::new(BYTES)?, two.there(|| Memory::new(BYTES))?);
            let host = Pinned::new(BYTES)?;
            host.fill(1, 7);
            if access {
                two.access().result()?;
            }
            cu!(cuMemsetD8_v2(from.address(), 0, BYTES)).result()?;
            two.there(|| cu!(cuMemsetD8_v2(to.address(), 0, BYTES)).result())?;
            two.idle()?;
            // The copy is behind a kernel, and whoever reads is on the other device.
            two.bench.kernel(stream.handle(), MS)?;
            cu!(cuMemsetD8Async(from.address(), 1, BYTES, stream.handle())).result()?;
            two.peer(to.address(), from.address(), BYTES, stream.handle()).result()?;
            let event = Event::recorded(stream.handle())?;
            if waits {
                there.wait(&event)?;
            }
            cu!(cuMemcpyDtoHAsync_v2(host.address(), to.address(), 4, there.handle())).result()?;
            there.synchronize()?;
            let word = host.word();
            two.idle()?;
            Ok(vec![if word == 0x0101_0101 { NEW } else { OLD }])
        })
    };
    vec![
        arrives("what a copy brings is there for a stream that waits for it", NEW, true, false),
        arrives("and over the link", NEW, true, true),
        arrives("not for one that does not wait", OLD, false, true),
    ]
}
