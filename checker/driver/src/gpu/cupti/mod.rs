//! CUPTI: what the device did and when, from activity records.
//!
//! Only the few functions of the activity interface that are needed, looked up at run time: CUPTI
//! is no part of the driver, and a machine may lack it.

mod buffers;
pub(super) mod join;
mod places;
mod record;

use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use join::Activity;
use record::kind;

use super::real::{find, load};

/// A `CUptiResult`.
type Result = u32;
const SUCCESS: Result = 0;
const NOT_INITIALIZED: Result = 15;
const INSUFFICIENT_PRIVILEGES: Result = 35;
const MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: Result = 39;

/// Returns also the buffers that are not full.
const FLUSH_FORCED: u32 = 1;

/// `CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0`
const OUR_NUMBERS: u32 = 3;

type RequestBuffer = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type CompleteBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
type RegisterCallbacks = unsafe extern "C" fn(RequestBuffer, CompleteBuffer) -> Result;
type ForKind = unsafe extern "C" fn(u32) -> Result;
type NextRecord = unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> Result;
type Now = unsafe extern "C" fn(*mut u64) -> Result;
type Push = unsafe extern "C" fn(u32, u64) -> Result;
type Pop = unsafe extern "C" fn(u32, *mut u64) -> Result;

/// The records that CUPTI has handed over since the last look. The callbacks have no other way to
/// it.
static ACTIVITIES: Mutex<Vec<Activity>> = Mutex::new(Vec::new());
/// `cuptiActivityGetNextRecord` of the library in use.
static NEXT_RECORD: AtomicUsize = AtomicUsize::new(0);

/// CUPTI at work.
pub(super) struct Cupti {
    disable: ForKind,
    flush: ForKind,
    now: Now,
    /// Both or none: older libraries and some profilers do without.
    numbers: Option<(Push, Pop)>,
}

/// Starts CUPTI, before the driver is initialised; or says why it cannot be had. `driver` is the
/// version that the driver answers for.
pub(super) fn start(driver: u32) -> std::result::Result<Cupti, String> {
    let mut why = None;
    for path in places::candidates(driver) {
        match open(&path) {
            Ok(cupti) => return Ok(cupti),
            // A library that was found and failed says more than one that was not found.
            Err(Failure::Fails(error)) => {
                why.get_or_insert_with(|| format!("`{}`: {error}", path.display()));
            }
            Err(Failure::NotThere) => {}
        }
    }
    Err(why.unwrap_or_else(|| {
        "no `libcupti.so` was found\nhint: install the CUDA toolkit or the Python package \
         `nvidia-cuda-cupti`, or set `SWIM_CUPTI` to the library's path"
            .to_owned()
    }))
}

/// Starts a stand-in.
#[cfg(test)]
pub(super) fn start_at(path: &Path) -> std::result::Result<Cupti, String> {
    open(path).map_err(|failure| match failure {
        Failure::NotThere => "it is not there".to_owned(),
        Failure::Fails(why) => why,
    })
}

enum Failure {
    NotThere,
    Fails(String),
}

fn open(path: &Path) -> std::result::Result<Cupti, Failure> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Failure::NotThere)?;
    let library = load(&name)
        .map_err(|why| if path.is_absolute() { Failure::Fails(why) } else { Failure::NotThere })?;
    let function = |name: &str| {
        find(library, name).ok_or_else(|| Failure::Fails(format!("it has no function `{name}`")))
    };
    let (register, enable) =
        (function("cuptiActivityRegisterCallbacks")?, function("cuptiActivityEnable")?);
    NEXT_RECORD.store(function("cuptiActivityGetNextRecord")?, Ordering::Release);
    let (push, pop) = (
        find(library, "cuptiActivityPushExternalCorrelationId"),
        find(library, "cuptiActivityPopExternalCorrelationId"),
    );
    // SAFETY: the functions of these names have these types in `cupti_activity.h`.
    let (register, enable, mut cupti) = unsafe {
        let cupti = Cupti {
            disable: std::mem::transmute::<usize, ForKind>(function("cuptiActivityDisable")?),
            flush: std::mem::transmute::<usize, ForKind>(function("cuptiActivityFlushAll")?),
            now: std::mem::transmute::<usize, Now>(function("cuptiGetTimestamp")?),
            numbers: push.zip(pop).map(|(push, pop)| {
                (std::mem::transmute::<usize, Push>(push), std::mem::transmute::<usize, Pop>(pop))
            }),
        };
        (
            std::mem::transmute::<usize, RegisterCallbacks>(register),
            std::mem::transmute::<usize, ForKind>(enable),
            cupti,
        )
    };
    let check = |what: &str, result: Result| match result {
        SUCCESS => Ok(()),
        code => Err(Failure::Fails(format!("`{what}` fails: {}", meaning(code)))),
    };
    // SAFETY: both callbacks are functions of this library, which is never unloaded.
    check("cuptiActivityRegisterCallbacks", unsafe { register(request_buffer, complete_buffer) })?;
    for wanted in
        [kind::CONCURRENT_KERNEL, kind::MEMCPY, kind::PEER_MEMCPY, kind::MEMSET, kind::DRIVER]
    {
        // SAFETY: takes a number.
        let enabled = check("cuptiActivityEnable", unsafe { enable(wanted) });
        if enabled.is_err() {
            cupti.stop();
        }
        enabled?;
    }
    // SAFETY: takes a number.
    if unsafe { enable(kind::EXTERNAL_CORRELATION) } != SUCCESS {
        cupti.numbers = None;
    }
    Ok(cupti)
}

/// The meaning of a code of CUPTI's, for people.
fn meaning(code: Result) -> String {
    match code {
        NOT_INITIALIZED => format!("the driver is too old for it, or missing (CUPTI error {code})"),
        INSUFFICIENT_PRIVILEGES => format!("it is not permitted (CUPTI error {code})"),
        MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED => {
            format!("a profiler is attached already (CUPTI error {code})")
        }
        _ => format!("CUPTI error {code}"),
    }
}

impl Cupti {
    /// Hands over what was recorded so far. The device must be idle.
    pub(super) fn take(&self) -> std::result::Result<Vec<Activity>, String> {
        // SAFETY: takes a number.
        match unsafe { (self.flush)(FLUSH_FORCED) } {
            SUCCESS => Ok(std::mem::take(&mut activities())),
            code => Err(format!("`cuptiActivityFlushAll` fails: {}", meaning(code))),
        }
    }

    /// CUPTI's clock, that of its records: [`Activity::is_since`] compares with it.
    pub(super) fn now(&self) -> Option<u64> {
        let mut ns = 0;
        // SAFETY: writes one number.
        (unsafe { (self.now)(&raw mut ns) } == SUCCESS).then_some(ns)
    }

    /// Makes `call` under a number that its records will show.
    pub(super) fn numbered<T>(&self, number: u64, call: impl FnOnce() -> T) -> T {
        let Some((push, pop)) = self.numbers else { return call() };
        // SAFETY: takes two numbers.
        let pushed = unsafe { push(OUR_NUMBERS, number) } == SUCCESS;
        let result = call();
        if pushed {
            let mut last = 0;
            // SAFETY: writes one number.
            unsafe { pop(OUR_NUMBERS, &raw mut last) };
        }
        result
    }

    /// Stops recording. What is under way still comes.
    pub(super) fn stop(&self) {
        let all = [
            kind::CONCURRENT_KERNEL,
            kind::MEMCPY,
            kind::PEER_MEMCPY,
            kind::MEMSET,
            kind::DRIVER,
            kind::EXTERNAL_CORRELATION,
        ];
        for kind in all {
            // SAFETY: takes a number. A kind that was never enabled is refused, which is as well.
            unsafe { (self.disable)(kind) };
        }
    }
}

fn activities() -> std::sync::MutexGuard<'static, Vec<Activity>> {
    ACTIVITIES.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn request_buffer(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    // SAFETY: CUPTI gives room for the three answers. A null buffer makes CUPTI drop records.
    unsafe {
        *buffer = buffers::take();
        *size = if (*buffer).is_null() { 0 } else { buffers::LAYOUT.size() };
        *most_records = 0; // as many as fit
    }
}

/// # Safety
/// CUPTI gives back a buffer from `request_buffer`, with `valid` bytes of records in it.
unsafe extern "C" fn complete_buffer(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _size: usize,
    valid: usize,
) {
    if buffer.is_null() {
        return;
    }
    let next_record = NEXT_RECORD.load(Ordering::Acquire);
    // SAFETY: the address is that of `cuptiActivityGetNextRecord`, stored before CUPTI wants a
    // buffer.
    let next_record: NextRecord = unsafe { std::mem::transmute(next_record) };
    let mut record: *mut u8 = std::ptr::null_mut();
    let mut activities = activities();
    // SAFETY: the caller's duty; CUPTI finds each next record from the one before, and ends with an
    // error that says so.
    while valid > 0 && unsafe { next_record(buffer, valid, &raw mut record) } == SUCCESS {
        // SAFETY: CUPTI has just pointed to it.
        activities.extend(unsafe { record::read(record) });
    }
    // SAFETY: the buffer comes from `request_buffer` and is given back once.
    unsafe { buffers::give_back(buffer) };
}
