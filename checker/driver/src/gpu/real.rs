//! The system's driver: its library, its symbols, and the calls that are made on our own account.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cuda::{CUresult, Handle, code};

/// The name of the real driver; never that of this library.
const LIBRARY: &CStr = c"libcuda.so.1";

/// The system's driver, loaded for the life of the process.
pub(crate) struct Real {
    library: usize,
}

impl Real {
    /// Loads it, or says why not.
    pub(super) fn open() -> Result<Self, String> {
        load(LIBRARY).map(|library| Self { library })
    }

    /// Loads a stand-in.
    #[cfg(test)]
    pub(super) fn open_at(path: &std::path::Path) -> Self {
        let path = CString::new(path.to_str().expect("a path in UTF-8")).expect("no NUL");
        Self { library: load(&path).expect("the stand-in loads") }
    }

    /// The address of a function, looked up anew.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        find(self.library, name)
    }

    /// The driver's name of an error.
    pub(super) fn error(&self, error: CUresult) -> String {
        match self.error_name(error) {
            Some(name) => format!("`{name}` ({error})"),
            None => format!("CUresult {error}"),
        }
    }

    /// The name of an error; none where the driver has none.
    pub(super) fn error_name(&self, error: CUresult) -> Option<String> {
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: the driver writes one pointer, to a string of its own that lives as long as it
        // does.
        unsafe {
            let asked = self.get_error_name(error, &raw mut name);
            let is_there = asked == code::SUCCESS && !name.is_null();
            is_there.then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }
}

/// Loads a library, or says why not.
pub(super) fn load(name: &CStr) -> Result<usize, String> {
    // SAFETY: the name is a C string; what the library's initialisers do is the system's business.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !library.is_null() {
        return Ok(library as usize);
    }
    // SAFETY: null or a C string, valid until this thread's next call of the same family.
    let why = unsafe {
        let text = libc::dlerror();
        if text.is_null() { None } else { Some(CStr::from_ptr(text).to_string_lossy()) }
    };
    Err(why.map_or_else(|| "it cannot be loaded".to_owned(), std::borrow::Cow::into_owned))
}

/// The address of a function in a loaded library.
pub(super) fn find(library: usize, name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: the handle is that of a loaded library, the name a C string.
    let address = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) } as usize;
    (address != 0).then_some(address)
}

/// Room for the address of one function, so that it is looked up once.
pub(crate) struct Slot(AtomicUsize);

/// The function has not been looked for.
const UNKNOWN: usize = 0;
/// The driver does not have it. No function lies at this address.
const MISSING: usize = 1;

impl Slot {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(UNKNOWN))
    }

    /// The address of the function called `name`, which is the same at each call.
    pub(super) fn address(&self, real: &Real, name: &str) -> Option<usize> {
        match self.0.load(Ordering::Relaxed) {
            UNKNOWN => {
                let found = real.find(name);
                self.0.store(found.unwrap_or(MISSING), Ordering::Relaxed);
                found
            }
            MISSING => None,
            address => Some(address),
        }
    }
}

/// Any code that CUDA 12.8 does not know becomes `CUDA_ERROR_UNKNOWN`: bindings that hold codes in
/// an enum have no value for it.
pub(crate) fn known(result: CUresult) -> CUresult {
    match result {
        0..=8 | 34 | 46 | 100..=102 | 200..=202 | 205..=226 | 300..=304 | 400..=402 | 500 | 600 => {
            result
        }
        700..=705 | 708..=721 | 800..=812 | 900..=916 => result,
        _ => code::UNKNOWN,
    }
}

/// Defines calls to the real driver.
macro_rules! real {
    ($($(#[$doc:meta])* fn $name:ident = $symbol:literal($($argument:ident: $type:ty),*);)*) => {
        impl Real {$(
            $(#[$doc])*
            ///
            /// # Safety
            /// As the driver's function.
            pub(super) unsafe fn $name(&self, $($argument: $type),*) -> CUresult {
                static SLOT: Slot = Slot::new();
                let Some(address) = SLOT.address(self, $symbol) else { return code::NOT_SUPPORTED };
                type Function = unsafe extern "C" fn($($type),*) -> CUresult;
                // SAFETY: the function of this name has this type in `cuda.h`.
                let function = unsafe { std::mem::transmute::<usize, Function>(address) };
                // SAFETY: the caller's duty.
                known(unsafe { function($($argument),*) })
            }
        )*}
    };
}

real! {
    /// Starts the driver.
    fn init = "cuInit"(flags: u32);
    /// The name of an error.
    fn get_error_name = "cuGetErrorName"(error: CUresult, name: *mut *const c_char);
    /// The version of the API that the driver answers for.
    fn driver_version = "cuDriverGetVersion"(version: *mut c_int);
    /// How many devices there are.
    fn device_count = "cuDeviceGetCount"(count: *mut c_int);
    /// The name of a device.
    fn device_name = "cuDeviceGetName"(name: *mut c_char, length: c_int, device: c_int);
    /// The calling thread's context.
    fn current_context = "cuCtxGetCurrent"(context: *mut Handle);
    /// Its device.
    fn current_device = "cuCtxGetDevice"(device: *mut c_int);
    /// Sets it.
    fn set_current_context = "cuCtxSetCurrent"(context: Handle);
    /// The primary context of a device.
    fn retain_context = "cuDevicePrimaryCtxRetain"(context: *mut Handle, device: c_int);
    /// Waits for everything.
    fn synchronize = "cuCtxSynchronize"();
    /// An attribute of an address.
    fn pointer_attribute = "cuPointerGetAttribute"(value: *mut c_void, attribute: u32, address: u64);
    /// Memory on the device.
    fn alloc = "cuMemAlloc_v2"(address: *mut u64, bytes: usize);
    /// Frees it.
    fn free = "cuMemFree_v2"(address: u64);
    /// Sets each byte.
    fn set_bytes = "cuMemsetD8_v2"(address: u64, value: u8, bytes: usize);
    /// Copies to the device; the host waits.
    fn copy_to_device = "cuMemcpyHtoD_v2"(target: u64, source: *const c_void, bytes: usize);
    /// Copies from the device; the host waits.
    fn copy_from_device = "cuMemcpyDtoH_v2"(target: *mut c_void, source: u64, bytes: usize);
    /// Makes a stream.
    fn create_stream = "cuStreamCreate"(stream: *mut Handle, flags: u32);
    /// Whether a stream is done.
    fn query_stream = "cuStreamQuery"(stream: Handle);
    /// Makes an event.
    fn create_event = "cuEventCreate"(event: *mut Handle, flags: u32);
    /// Records an event.
    fn record_event = "cuEventRecord"(event: Handle, stream: Handle);
    /// Whether an event has come to pass.
    fn query_event = "cuEventQuery"(event: Handle);
    /// Milliseconds between two events.
    fn elapsed = "cuEventElapsedTime"(ms: *mut f32, start: Handle, end: Handle);
    /// The same under the name that drivers may have alone from CUDA 13 on.
    fn elapsed_v2 = "cuEventElapsedTime_v2"(ms: *mut f32, start: Handle, end: Handle);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_a_newer_driver_become_unknown() {
        assert_eq!([0, 600, 916, 999].map(known), [0, 600, 916, 999]);
        assert_eq!([227, 917, 1000, u32::MAX].map(known), [999; 4]);
    }
}
