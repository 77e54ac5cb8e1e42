//! A stand-in for the system's driver and for CUPTI, in one library: an operation is over when its call
//! returns, device memory is ordinary memory, and no context is needed.
//!
//! The tests compile it by itself; it is no module of this crate.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

const SUCCESS: u32 = 0;
const NOT_READY: u32 = 600;

const MEMCPY: u32 = 1;
const MEMSET: u32 = 2;
const DRIVER: u32 = 4;
const KERNEL: u32 = 10;
const EXTERNAL: u32 = 39;

type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

struct State {
    next: u64,
    device: BTreeMap<u64, u64>,
    events: BTreeMap<u64, Instant>,
    busy: bool,
    correlation: u32,
    callbacks: Option<(Request, Complete)>,
    enabled: Vec<u32>,
    hidden: u32,
    records: Vec<Vec<u8>>,
}

static STATE: Mutex<State> = Mutex::new(State {
    next: 0x1000,
    device: BTreeMap::new(),
    events: BTreeMap::new(),
    busy: false,
    correlation: 0,
    callbacks: None,
    enabled: Vec::new(),
    hidden: 0,
    records: Vec::new(),
});

thread_local! {
    static NUMBERS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap()
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// Long enough to be told apart, short enough for a test.
fn operate() -> (u64, u64) {
    let start = now();
    std::thread::sleep(Duration::from_micros(200));
    (start, now())
}

impl State {
    fn handle(&mut self) -> u64 {
        self.next += 0x10;
        self.next
    }

    fn record(&mut self, bytes: usize, words: &[(usize, u32)], longs: &[(usize, u64)]) {
        let kind = words[0].1;
        if !self.enabled.contains(&kind) || self.hidden == kind {
            return;
        }
        let mut record = vec![0xee; bytes];
        for (at, word) in words {
            record[*at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        for (at, long) in longs {
            record[*at..at + 8].copy_from_slice(&long.to_le_bytes());
        }
        self.records.push(record);
    }

    /// A call came and went.
    fn call(&mut self, start: u64) -> u32 {
        self.correlation += 1;
        let correlation = self.correlation;
        if let Some(number) = NUMBERS.with_borrow(|numbers| numbers.last().copied()) {
            self.record(24, &[(0, EXTERNAL), (4, 3), (16, correlation)], &[(8, number)]);
        }
        let words = [(0, DRIVER), (4, 1), (24, 1), (28, 77), (32, correlation)];
        self.record(40, &words, &[(8, start), (16, now())]);
        correlation
    }

    fn copied(&mut self, kind: u8, bytes: u64, (start, end): (u64, u64)) {
        let correlation = self.call(start);
        let words = [(0, MEMCPY), (4, u32::from_le_bytes([kind, 2, 3, 0])), (44, correlation)];
        self.record(104, &words, &[(8, bytes), (16, start), (24, end)]);
    }
}

/// Whether streams are busy.
#[unsafe(no_mangle)]
extern "C" fn stand_in_busy(busy: u32) {
    state().busy = busy != 0;
}

/// Hides records of one kind.
#[unsafe(no_mangle)]
extern "C" fn stand_in_hide(kind: u32) {
    state().hidden = kind;
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_: u32) -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(_: u32, name: *mut *const c_char) -> u32 {
    unsafe { *name = c"CUDA_ERROR_STAND_IN".as_ptr() };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> u32 {
    unsafe { *version = 13_010 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> u32 {
    unsafe { *count = 1 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, _: c_int, _: c_int) -> u32 {
    unsafe { c"Stand-in".as_ptr().copy_to(name, 9) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut u64) -> u32 {
    unsafe { *context = 0xc0 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: u64) -> u32 {
    /// `CUDA_ERROR_INVALID_CONTEXT`
    const INVALID_CONTEXT: u32 = 201;
    if context == 0xc0 { SUCCESS } else { INVALID_CONTEXT }
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> u32 {
    state().call(now());
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttribute(value: *mut u32, _: u32, address: u64) -> u32 {
    let state = state();
    let block = state.device.range(..=address).next_back();
    if block.is_some_and(|(start, bytes)| address - start < *bytes) {
        unsafe { *value = 2 };
        return SUCCESS;
    }
    1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(stream: *mut u64, _: u32) -> u32 {
    unsafe { *stream = state().handle() };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(_: u64) -> u32 {
    if state().busy { NOT_READY } else { SUCCESS }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut u64, _: u32) -> u32 {
    unsafe { *event = state().handle() };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: u64, _: u64) -> u32 {
    state().events.insert(event, Instant::now());
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(_: u64) -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(ms: *mut f32, start: u64, end: u64) -> u32 {
    let state = state();
    let (Some(start), Some(end)) = (state.events.get(&start), state.events.get(&end)) else {
        return 400;
    };
    unsafe { *ms = end.duration_since(*start).as_secs_f32() * 1e3 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32 {
    let memory = vec![0_u8; bytes].leak();
    state().device.insert(memory.as_ptr() as u64, bytes as u64);
    unsafe { *address = memory.as_ptr() as u64 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostAlloc(address: *mut u64, bytes: usize, _: u32) -> u32 {
    unsafe { *address = vec![0_u8; bytes].leak().as_ptr() as u64 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(target: u64, source: *const u8, bytes: usize) -> u32 {
    let times = operate();
    unsafe { source.copy_to(target as *mut u8, bytes) };
    state().copied(1, bytes as u64, times);
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(target: *mut u8, source: u64, bytes: usize) -> u32 {
    let times = operate();
    unsafe { target.copy_from(source as *const u8, bytes) };
    state().copied(2, bytes as u64, times);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(_: u64, _: u8, bytes: usize, _: u64) -> u32 {
    let (start, end) = operate();
    let mut state = state();
    let correlation = state.call(start);
    let longs = [(8, bytes as u64), (16, start), (24, end)];
    state.record(88, &[(0, MEMSET), (44, correlation)], &longs);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8_v2(address: u64, value: u8, bytes: usize) -> u32 {
    unsafe { (address as *mut u8).write_bytes(value, bytes) };
    cuMemsetD8Async(address, value, bytes, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> u32 {
    state().device.remove(&address);
    SUCCESS
}

/// Runs nothing: the tests compute by themselves.
#[unsafe(no_mangle)]
extern "C" fn stand_in_launch() -> u32 {
    let (start, end) = operate();
    let mut state = state();
    let correlation = state.call(start);
    state.record(224, &[(0, KERNEL), (92, correlation)], &[(16, start), (24, end)]);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuptiActivityRegisterCallbacks(request: Request, complete: Complete) -> u32 {
    state().callbacks = Some((request, complete));
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuptiActivityEnable(kind: u32) -> u32 {
    state().enabled.push(kind);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuptiActivityDisable(kind: u32) -> u32 {
    state().enabled.retain(|enabled| *enabled != kind);
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetTimestamp(ns: *mut u64) -> u32 {
    unsafe { *ns = now() };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuptiActivityPushExternalCorrelationId(_: u32, number: u64) -> u32 {
    NUMBERS.with_borrow_mut(|numbers| numbers.push(number));
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityPopExternalCorrelationId(_: u32, last: *mut u64) -> u32 {
    unsafe { *last = NUMBERS.with_borrow_mut(|numbers| numbers.pop()).unwrap() };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityFlushAll(_: u32) -> u32 {
    let (records, callbacks) = {
        let mut state = state();
        (std::mem::take(&mut state.records).concat(), state.callbacks)
    };
    let (request, complete) = callbacks.unwrap();
    let (mut buffer, mut size, mut most) = (std::ptr::null_mut(), 0, 0);
    unsafe { request(&mut buffer, &mut size, &mut most) };
    assert!(records.len() <= size && most == 0 && buffer.is_aligned_to_8());
    unsafe {
        buffer.copy_from(records.as_ptr(), records.len());
        complete(std::ptr::null_mut(), 0, buffer, size, records.len());
    }
    SUCCESS
}

trait Aligned {
    fn is_aligned_to_8(self) -> bool;
}

impl Aligned for *mut u8 {
    fn is_aligned_to_8(self) -> bool {
        self as usize % 8 == 0
    }
}

/// Each record follows the one before it; the end is an error.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityGetNextRecord(
    buffer: *mut u8,
    valid: usize,
    record: *mut *mut u8,
) -> u32 {
    const MAX_LIMIT_REACHED: u32 = 12;
    unsafe {
        *record = if (*record).is_null() {
            buffer
        } else {
            let bytes = match (*record).cast::<u32>().read_unaligned() {
                MEMCPY => 104,
                MEMSET => 88,
                DRIVER => 40,
                KERNEL => 224,
                _ => 24,
            };
            (*record).add(bytes)
        };
        if (*record).offset_from(buffer) < valid as isize { SUCCESS } else { MAX_LIMIT_REACHED }
    }
}
