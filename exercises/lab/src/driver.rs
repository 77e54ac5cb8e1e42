//! Loading the driver library, and what is asked of it besides the driver API.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use trace::env;
use trace::failed_call::FailedCall;
use trace::lab_protocol::{Reply, Request, Speeds};
use trace::record::Trial;

use crate::{Error, Result};

/// The library's file name. Its SONAME is `libcuda.so`, which is what cudarc loads.
const FILE: &str = "libswim_driver.so";

/// The build that this program belongs to.
const BUILD_ID: &str = env!("SWIM_BUILD_ID");

/// The longest reply that the driver gives, in bytes: a trial with a few shortfalls takes a few
/// hundred.
const LONGEST_REPLY: usize = 64 << 10;

thread_local! {
    /// Room for a reply, which stays as the allocator gives it. To clear as much took a new thread
    /// 0.3 ms of its measured region on the host of an H200 (2026-12-01).
    static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The library's extension symbols.
#[derive(Clone, Copy)]
struct Extension {
    call: Call,
    device_memory: DeviceMemory,
    serve: Serve,
}

type Call = unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> isize;
type DeviceMemory = unsafe extern "C" fn() -> RawFd;
type Serve = unsafe extern "C" fn(RawFd) -> i32;

static EXTENSION: OnceLock<Extension> = OnceLock::new();

/// Loads the driver library, before cudarc looks for `libcuda.so`: glibc then gives it this one.
///
/// It is looked for where `SWIM_DRIVER` says, or else where cargo puts it beside the program.
pub fn load() -> Result<()> {
    if EXTENSION.get().is_some() {
        return Ok(());
    }
    let named = std::env::var_os(env::DRIVER).map(PathBuf::from);
    let candidates = named.map_or_else(beside_the_program, |path| vec![path]);
    let mut refused = Vec::new();
    for path in candidates {
        match open(&path) {
            Ok(extension) => {
                EXTENSION.get_or_init(|| extension);
                return Ok(());
            }
            Err(why) => refused.push(format!("\n  `{}`: {why}", path.display())),
        }
    }
    Err(Error::Refused(format!(
        "cannot load the driver library:{}\nhint: build it again with `cargo build -p driver`, or unset `{}`",
        refused.concat(),
        env::DRIVER
    )))
}

/// Requests so many work queues to each engine (`CUDA_DEVICE_MAX_CONNECTIONS`). To be called first
/// in `main`: CUDA reads it when it starts, and never again.
pub fn connections(count: u32) {
    // SAFETY: the process has no other thread before the driver is loaded.
    unsafe { std::env::set_var(trace::env::CONNECTIONS, count.to_string()) };
}

/// Cargo puts a dependency's library into `deps`; the one a level up is there only when the driver
/// itself was built, and may be old.
fn beside_the_program() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap_or_default();
    let folders = program.ancestors().skip(1).take(2);
    folders.flat_map(|folder| [folder.join("deps").join(FILE), folder.join(FILE)]).collect()
}

fn open(path: &Path) -> std::result::Result<Extension, String> {
    if !path.exists() {
        return Err("there is no such file".to_owned());
    }
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "not a path".to_owned())?;
    // SAFETY: plain calls with C strings. The symbols are those that the driver library exports
    // with these types. A library that is refused stays loaded only if it cannot be unloaded.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            return Err(CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned());
        }
        let build_id = libc::dlsym(library, c"swim_build_id".as_ptr());
        let call = libc::dlsym(library, c"swim_call".as_ptr());
        let device_memory = libc::dlsym(library, c"swim_device_memory".as_ptr());
        let serve = libc::dlsym(library, c"swim_serve".as_ptr());
        if [build_id, call, device_memory, serve].iter().any(|symbol| symbol.is_null()) {
            libc::dlclose(library);
            return Err("it is not the driver library of this project".to_owned());
        }
        let build_id: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(build_id);
        let found = CStr::from_ptr(build_id()).to_string_lossy().into_owned();
        if found != BUILD_ID {
            libc::dlclose(library);
            return Err(format!("it is stale: build {found}, but this program needs {BUILD_ID}"));
        }
        Ok(Extension {
            call: std::mem::transmute::<*mut libc::c_void, Call>(call),
            device_memory: std::mem::transmute::<*mut libc::c_void, DeviceMemory>(device_memory),
            serve: std::mem::transmute::<*mut libc::c_void, Serve>(serve),
        })
    }
}

fn extension() -> Result<&'static Extension> {
    EXTENSION.get().ok_or_else(|| Error::Refused("the driver library is not loaded".to_owned()))
}

/// Makes the memory that a device process and its student's process share. A child inherits the
/// descriptor; it opens the device by the descriptor's number in `SWIM_MACHINE`.
pub fn device_memory() -> Result<OwnedFd> {
    // SAFETY: takes nothing; gives a descriptor of our own or -1.
    match unsafe { (extension()?.device_memory)() } {
        -1 => Err(Error::Refused("the driver library cannot make shared memory".to_owned())),
        // SAFETY: as above.
        descriptor => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
    }
}

/// Is the device process: serves one run over that memory, until the student's process is gone.
pub fn serve(memory: OwnedFd) -> Result<()> {
    // SAFETY: the descriptor is handed over.
    match unsafe { (extension()?.serve)(memory.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(Error::Refused("the simulated device could not be made".to_owned())),
    }
}

/// Puts a request to the driver library.
pub fn ask(request: &Request) -> Result<Reply> {
    let call = extension()?.call;
    let request =
        postcard::to_stdvec(request).map_err(|error| Error::Refused(error.to_string()))?;
    let answered = REPLY.with_borrow_mut(|reply| {
        reply.clear();
        reply.reserve(LONGEST_REPLY);
        // SAFETY: the request is valid for its length, and there is so much room for the reply.
        let length =
            unsafe { call(request.as_ptr(), request.len(), reply.as_mut_ptr(), LONGEST_REPLY) };
        let length = usize::try_from(length).ok()?;
        // SAFETY: the library has written as much, and no more than there is room for.
        unsafe { reply.set_len(length) };
        postcard::from_bytes(reply).ok()
    });
    match answered {
        Some(Reply::Refused { why }) => Err(Error::Refused(why)),
        Some(reply) => Ok(reply),
        None => {
            Err(Error::Refused("the driver library does not understand this program".to_owned()))
        }
    }
}

/// The speeds of the device's profile.
pub(crate) fn speeds() -> Result<Speeds> {
    match ask(&Request::Speeds)? {
        Reply::Speeds(speeds) => Ok(speeds),
        _ => {
            Err(Error::Refused("the driver library does not say how fast the device is".to_owned()))
        }
    }
}

/// The first call that failed with `code`.
pub(crate) fn failed_call(code: u32) -> Option<FailedCall> {
    match ask(&Request::FailedCall { code }) {
        Ok(Reply::FailedCall(failed)) => failed,
        _ => None,
    }
}

/// Leaves the measured region.
pub(crate) fn end_region() -> Result<Trial> {
    match ask(&Request::RegionEnd)? {
        Reply::Trial(trial) => Ok(*trial),
        _ => Err(Error::Refused("the driver library does not say how the region went".to_owned())),
    }
}
