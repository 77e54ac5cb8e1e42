//! Random and hostile calls of the C functions: whatever a program passes that C lets it pass, it gets
//! an error code, and the device is still there afterwards.
//!
//! Pointers that the driver writes results to are valid or null, and images and names are C strings:
//! no driver can check those. All other arguments may be anything. When a call does end the process,
//! the last calls before it are printed.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::ptr;
use std::sync::Mutex;

use cudarc::driver::sys::{
    self, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUresult, CUstream,
};
use kernels::Stage;

use crate::Case;
use crate::cases::context;

pub(crate) const CASES: &[Case] = &[
    ("hostile_calls_get_an_answer", hostile_calls_get_an_answer),
    ("host_memory_that_is_not_there_is_an_error", host_memory_that_is_not_there_is_an_error),
];

/// Memory of the program's that nobody may write.
static READ_ONLY: [u8; 64] = [7; 64];

/// Calls of a process.
const CALLS: u32 = 60_000;
const SEED: u64 = 20_261_121;

/// The last calls, to be printed when one of them ends the process.
static LAST: Mutex<[Line; 24]> = Mutex::new([Line { text: [0; 400], length: 0 }; 24]);

#[derive(Clone, Copy)]
struct Line {
    text: [u8; 400],
    length: usize,
}

impl std::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = &mut self.text[self.length..];
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}

extern "C" fn print_last(signal: i32) {
    if let Ok(last) = LAST.try_lock() {
        for line in last.iter().filter(|line| line.length > 0) {
            // SAFETY: plain writes of initialised memory.
            unsafe {
                libc::write(2, line.text.as_ptr().cast(), line.length);
                libc::write(2, b"\n".as_ptr().cast(), 1);
            }
        }
    }
    // SAFETY: the process ends as it would have.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// A source of numbers that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn anything(&mut self) -> u64 {
        const ANY: [u64; 16] = [
            0,
            1,
            2,
            3,
            8,
            0x57,
            4096,
            0x5700_0010,
            0x0200_0000_0000,
            0x0200_0000_1001,
            u32::MAX as u64,
            1 << 40,
            i64::MAX as u64,
            0xffff_8000_0000_0000,
            u64::MAX - 7,
            u64::MAX,
        ];
        match self.below(3) {
            0 => self.below(1 << 31) << self.below(34),
            _ => ANY[self.below(16) as usize],
        }
    }

    /// One of these, mostly a late one; anything now and then.
    fn of(&mut self, list: &[u64]) -> u64 {
        if list.is_empty() || self.below(12) == 0 {
            return self.anything();
        }
        let back = self.below(list.len().min(8) as u64) as usize;
        list[list.len() - 1 - back]
    }

    fn bytes(&mut self) -> usize {
        match self.below(12) {
            0 => self.anything() as usize,
            1 => 70_000,
            _ => self.below(5000) as usize,
        }
    }
}

#[derive(Default)]
struct Given {
    streams: Vec<u64>,
    events: Vec<u64>,
    memory: Vec<u64>,
    pinned: Vec<u64>,
    graphs: Vec<u64>,
    executables: Vec<u64>,
}

/// Makes a call, after it has been noted down with what it may be about.
macro_rules! call {
    ($about:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        note(&$about, stringify!($name));
        // SAFETY: pointers to results are valid or null, texts are C strings; the rest is what the
        // driver has to check.
        unsafe { sys::$name($($argument),*) }
    }};
}

/// What the next call may be about.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "they are printed")]
struct About {
    number: u32,
    stream: CUstream,
    event: CUevent,
    device: u64,
    other: u64,
    host: *mut c_void,
    bytes: usize,
    graph: CUgraph,
    executable: CUgraphExec,
    result: *mut u64,
}

fn note(about: &About, name: &str) {
    let mut line = Line { text: [0; 400], length: 0 };
    let _ = write!(line, "{name}: {about:x?}");
    LAST.lock().expect("nobody panics with it")[about.number as usize % 24] = line;
}

fn hostile_calls_get_an_answer() {
    for signal in [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the handler only writes, and ends the process.
        unsafe { libc::signal(signal, print_last as *const () as libc::sighandler_t) };
    }
    let context = context();
    let function = crate::cases::map(&context, Stage::A);
    let function = function.cu_function() as u64;
    let mut given = Given::default();
    let mut dice = Dice(SEED);
    let mut heap = vec![1_u8; 1 << 17];
    let mut refused = 0;
    for number in 0..CALLS {
        let code = one(number, &mut dice, &mut given, function, &mut heap);
        refused += u32::from(code != CUresult::CUDA_SUCCESS);
    }
    // Captures may be open, and the context may be lost: but the driver answers.
    let (mut free, mut total) = (0, 0);
    // SAFETY: both point to a size.
    let code = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
    assert!(code != CUresult::CUDA_ERROR_UNKNOWN, "the device is gone");
    assert!(refused > CALLS / 10 && refused < CALLS, "{refused} of {CALLS} calls were refused");
}

fn one(n: u32, dice: &mut Dice, given: &mut Given, function: u64, heap: &mut [u8]) -> CUresult {
    let stream = match dice.below(5) {
        0 => dice.below(3),
        _ => dice.of(&given.streams),
    } as CUstream;
    let event = dice.of(&given.events) as CUevent;
    let device = dice.of(&given.memory).wrapping_add(dice.below(2) * dice.below(9000));
    let other = dice.of(&given.memory);
    let bytes = dice.bytes();
    let host = match dice.below(6) {
        0 => dice.anything(),
        1 | 2 => dice.of(&given.pinned).wrapping_add(dice.below(2) * dice.below(9000)),
        _ => heap.as_mut_ptr() as u64 + dice.below(1 << 16),
    } as *mut c_void;
    // A copy of this size into the heap stays in it.
    let copied = match host as u64 {
        at if (heap.as_ptr() as u64..heap.as_ptr() as u64 + heap.len() as u64).contains(&at) => {
            bytes.min(1 << 16)
        }
        _ => bytes,
    };
    let graph = dice.of(&given.graphs) as CUgraph;
    let executable = dice.of(&given.executables) as CUgraphExec;
    let mut found = 0_u64;
    let result = if dice.below(16) == 0 { ptr::null_mut() } else { &raw mut found };
    let number = n;
    let n = About {
        number,
        stream,
        event,
        device,
        other,
        host,
        bytes: copied,
        graph,
        executable,
        result,
    };
    let (code, list) = match dice.below(44) {
        0 | 1 => {
            let code = call!(n, cuStreamCreate(result.cast(), dice.below(3) as u32));
            (code, Some(&mut given.streams))
        }
        2 => {
            let (flags, priority) = (dice.below(2) as u32, dice.anything() as i32);
            let code = call!(n, cuStreamCreateWithPriority(result.cast(), flags, priority));
            (code, Some(&mut given.streams))
        }
        3 => (call!(n, cuStreamDestroy_v2(stream)), None),
        4 => (call!(n, cuStreamSynchronize(stream)), None),
        5 => (call!(n, cuStreamQuery(stream)), None),
        6..=8 => (call!(n, cuStreamWaitEvent(stream, event, dice.below(2) as u32)), None),
        9 | 10 => {
            let code = call!(n, cuEventCreate(result.cast(), dice.below(5) as u32));
            (code, Some(&mut given.events))
        }
        11 => (call!(n, cuEventDestroy_v2(event)), None),
        12..=14 => (call!(n, cuEventRecord(event, stream)), None),
        15 => (call!(n, cuEventSynchronize(event)), None),
        16 => (call!(n, cuEventQuery(event)), None),
        17 => {
            let other = dice.of(&given.events) as CUevent;
            (call!(n, cuEventElapsedTime(result.cast(), event, other)), None)
        }
        18 | 19 => (call!(n, cuMemAlloc_v2(result, bytes)), Some(&mut given.memory)),
        20 | 21 => (call!(n, cuMemAllocAsync(result, bytes, stream)), Some(&mut given.memory)),
        22 => (call!(n, cuMemFree_v2(device)), None),
        23 => (call!(n, cuMemFreeAsync(device, stream)), None),
        24 => {
            let code = call!(n, cuMemHostAlloc(result.cast(), bytes, dice.anything() as u32));
            (code, Some(&mut given.pinned))
        }
        25 => {
            // Freed memory of the heap would be an error of this program's own.
            let pinned = dice.of(&given.pinned) as *mut c_void;
            (call!(n, cuMemFreeHost(pinned)), None)
        }
        26..=28 => (call!(n, cuMemcpyHtoDAsync_v2(device, host, copied, stream)), None),
        29..=31 => (call!(n, cuMemcpyDtoHAsync_v2(host, device, copied, stream)), None),
        32 => (call!(n, cuMemcpyDtoDAsync_v2(device, other, bytes, stream)), None),
        33 => (call!(n, cuMemcpyHtoD_v2(device, host, copied)), None),
        34 => (call!(n, cuMemcpyDtoH_v2(host, device, copied)), None),
        35 => (call!(n, cuMemsetD8Async(device, 7, bytes, stream)), None),
        36 => (call!(n, cuMemsetD32Async(device, 7, bytes, stream)), None),
        37 => {
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            (call!(n, cuStreamBeginCapture_v2(stream, mode)), None)
        }
        38 | 39 => (call!(n, cuStreamEndCapture(stream, result.cast())), Some(&mut given.graphs)),
        40 => {
            let flags = dice.below(3).wrapping_mul(dice.anything());
            let code = call!(n, cuGraphInstantiateWithFlags(result.cast(), graph, flags));
            (code, Some(&mut given.executables))
        }
        41 if dice.below(3) == 0 => {
            let mut info = std::mem::MaybeUninit::zeroed();
            (call!(n, cuGraphExecUpdate_v2(executable, graph, info.as_mut_ptr())), None)
        }
        41 => (call!(n, cuGraphLaunch(executable, stream)), None),
        42 => match dice.below(4) {
            0 => (call!(n, cuGraphExecDestroy(executable)), None),
            1 => (call!(n, cuGraphDestroy(graph)), None),
            2 => (call!(n, cuCtxSynchronize()), None),
            _ => {
                let module = dice.anything() as CUmodule;
                (call!(n, cuModuleGetFunction(result.cast(), module, c"map_a".as_ptr())), None)
            }
        },
        _ => {
            // Memory that is not there loses the context: not too soon.
            let mut arguments = match dice.below(3000) {
                0 => [device, other, dice.anything(), dice.anything()],
                _ => [device, other, 0, dice.below(100)],
            };
            let mut pointers: [*mut c_void; 4] =
                std::array::from_fn(|index| (&raw mut arguments[index]).cast());
            let function = if dice.below(20) == 0 { dice.anything() } else { function };
            let mut side = || match dice.below(8) {
                0 => dice.anything() as u32,
                _ => 1 + dice.below(300) as u32,
            };
            let (grid, block) = ([side(), 1, 1], [side(), 1, 1]);
            let pointers =
                if dice.below(20) == 0 { ptr::null_mut() } else { pointers.as_mut_ptr() };
            let none = ptr::null_mut();
            let code = call!(
                n,
                cuLaunchKernel(
                    function as CUfunction,
                    grid[0],
                    grid[1],
                    grid[2],
                    block[0],
                    block[1],
                    block[2],
                    0,
                    stream,
                    pointers,
                    none
                )
            );
            (code, None)
        }
    };
    if code == CUresult::CUDA_SUCCESS
        && let Some(list) = list
    {
        assert!(!result.is_null(), "call {number}: a null pointer was taken for a result");
        list.push(found);
    }
    code
}

fn host_memory_that_is_not_there_is_an_error() {
    let context = context();
    let stream = context.default_stream();
    let mut device = 0;
    // SAFETY: the result is valid; the host addresses are what the driver has to check.
    unsafe {
        assert_eq!(sys::cuMemAlloc_v2(&mut device, 1 << 20), CUresult::CUDA_SUCCESS);
        for address in [8_usize, 4096, usize::MAX - 4096, 1 << 62] {
            let host = address as *mut c_void;
            let code = sys::cuMemcpyHtoDAsync_v2(device, host, 1 << 17, stream.cu_stream());
            assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE, "{address:#x}");
            let code = sys::cuMemcpyDtoHAsync_v2(host, device, 64, stream.cu_stream());
            assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE, "{address:#x}");
        }
        // Where the host may read but not write, the copy finds out, and the context is lost.
        let code = sys::cuMemcpyDtoHAsync_v2(
            READ_ONLY.as_ptr().cast_mut().cast(),
            device,
            64,
            stream.cu_stream(),
        );
        assert_eq!(code, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(sys::cuCtxSynchronize(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}
