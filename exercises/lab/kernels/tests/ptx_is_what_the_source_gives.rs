//! Compiles `cuda/*.cu` again and compares the result with the checked-in `ptx/*.ptx`.
//!
//! Needs NVRTC 12.0 (`pip install nvidia-cuda-nvrtc-cu12==12.0.140`; no GPU and no driver), named by
//! `SWIM_NVRTC=<path of libnvrtc.so.12>`. `SWIM_UPDATE_PTX=1` rewrites the checked-in files.
//! Without NVRTC it says so and passes, unless `SWIM_REQUIRE` contains the word `nvrtc`.
#![cfg(unix)]
#![allow(clippy::print_stderr, reason = "a test that did not run has to say so")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::{env, fs, ptr};

/// Drivers from R525 on read the PTX of this release; a later one writes PTX that they refuse.
const RELEASE: (c_int, c_int) = (12, 0);

/// The oldest architecture that every NVRTC 12 accepts without a warning.
const OLDEST: &CStr = c"--gpu-architecture=compute_70";

/// The architecture that a source is compiled for.
fn architecture(name: &str) -> &'static CStr {
    // Products of 16 x 8 x 16 on the tensor cores came with 8.0.
    if name == "tensor.cu" { c"--gpu-architecture=compute_80" } else { OLDEST }
}

type Program = *mut c_void;

/// The functions of NVRTC that a compilation needs; each returns 0 on success.
struct Nvrtc {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    ptx_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    ptx: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
}

/// # Safety
///
/// `F` is the type of the function that the library exports under this name.
unsafe fn symbol<F: Copy>(library: *mut c_void, name: &CStr) -> F {
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: the handle is open, and stays so until the process ends.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!address.is_null(), "NVRTC has no symbol `{}`", name.to_string_lossy());
    // SAFETY: a function pointer has the size of the address (checked above); the caller knows its type.
    unsafe { ptr::read(ptr::from_ref(&address).cast::<F>()) }
}

impl Nvrtc {
    fn open(path: &OsStr) -> Self {
        let c_path = CString::new(path.as_bytes()).expect("a path holds no zero byte");
        // SAFETY: the string is terminated; NVRTC's initialisers are those of an ordinary library.
        let library = unsafe { libc::dlopen(c_path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "cannot load `{}`", path.to_string_lossy());
        // SAFETY: the types are those of nvrtc.h of 12.0.
        unsafe {
            Self {
                version: symbol(library, c"nvrtcVersion"),
                create: symbol(library, c"nvrtcCreateProgram"),
                compile: symbol(library, c"nvrtcCompileProgram"),
                log_size: symbol(library, c"nvrtcGetProgramLogSize"),
                log: symbol(library, c"nvrtcGetProgramLog"),
                ptx_size: symbol(library, c"nvrtcGetPTXSize"),
                ptx: symbol(library, c"nvrtcGetPTX"),
                destroy: symbol(library, c"nvrtcDestroyProgram"),
            }
        }
    }

    fn release(&self) -> (c_int, c_int) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both places live for the call.
        let code = unsafe { (self.version)(&raw mut major, &raw mut minor) };
        assert_eq!(code, 0, "nvrtcVersion");
        (major, minor)
    }

    fn ptx_of(&self, name: &str, source: &str) -> String {
        let c_name = CString::new(name).expect("a file name holds no zero byte");
        let source = CString::new(source).expect("a source holds no zero byte");
        let mut program: Program = ptr::null_mut();
        // SAFETY: both strings are terminated; there are no headers, so both lists may be null.
        let code = unsafe {
            (self.create)(
                &raw mut program,
                source.as_ptr(),
                c_name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        assert_eq!(code, 0, "nvrtcCreateProgram for `{name}`");
        // SAFETY: one option, terminated.
        let code = unsafe { (self.compile)(program, 1, [architecture(name).as_ptr()].as_ptr()) };
        let log = text(program, self.log_size, self.log);
        assert_eq!(code, 0, "cannot compile `{name}`:\n{log}");
        let ptx = text(program, self.ptx_size, self.ptx);
        // SAFETY: the program was created above and is not used afterwards.
        unsafe { (self.destroy)(&raw mut program) };
        ptx
    }
}

fn text(
    program: Program,
    size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    get: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
) -> String {
    let mut bytes = 0;
    // SAFETY: the program exists, the place lives for the call.
    assert_eq!(unsafe { size(program, &raw mut bytes) }, 0);
    let mut buffer = vec![0_u8; bytes];
    // SAFETY: the buffer has the size that NVRTC asked for, terminator included.
    assert_eq!(unsafe { get(program, buffer.as_mut_ptr().cast()) }, 0);
    let text = CStr::from_bytes_until_nul(&buffer).expect("NVRTC terminates its texts");
    text.to_str().expect("NVRTC writes ASCII").to_owned()
}

/// Without the comments that name the compiler's build: they differ between wheels of one release.
fn without_banner(ptx: &str) -> String {
    const BANNER: [&str; 3] =
        ["// Compiler Build ID", "// Cuda compilation tools", "// Based on NVVM"];
    ptx.lines()
        .filter(|line| !BANNER.iter().any(|banner| line.starts_with(banner)))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_checked_in_ptx_is_what_the_source_gives() {
    let Some(path) = env::var_os("SWIM_NVRTC") else {
        let required = env::var("SWIM_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(|c: char| !c.is_alphanumeric()).any(|word| word == "nvrtc"),
            "`SWIM_REQUIRE` asks for NVRTC, but `SWIM_NVRTC` does not name its library\n\
             hint: pip install nvidia-cuda-nvrtc-cu12==12.0.140"
        );
        eprintln!("not run: needs NVRTC");
        return;
    };
    let nvrtc = Nvrtc::open(&path);
    assert_eq!(
        nvrtc.release(),
        RELEASE,
        "`SWIM_NVRTC` names another release\nhint: pip install nvidia-cuda-nvrtc-cu12==12.0.140"
    );
    let update = env::var_os("SWIM_UPDATE_PTX").is_some_and(|value| value == "1");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources: Vec<_> = fs::read_dir(root.join("cuda"))
        .expect("the folder of sources exists")
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    sources.sort();
    assert!(!sources.is_empty());
    for source in sources {
        // NVRTC's internal names contain the file name, so it must not hold a folder.
        let name =
            source.file_name().expect("a file has a name").to_str().expect("names are ASCII");
        let built =
            nvrtc.ptx_of(name, &fs::read_to_string(&source).expect("the source can be read"));
        let kept_at = root.join("ptx").join(name).with_extension("ptx");
        if update {
            fs::write(&kept_at, &built).expect("the PTX can be written");
        }
        let kept = fs::read_to_string(&kept_at).expect("the PTX is checked in");
        // Not `assert_eq`: it would print both texts whole.
        assert!(
            without_banner(&kept) == without_banner(&built),
            "`{}` is not what `cuda/{name}` gives\nhint: run this test with SWIM_UPDATE_PTX=1",
            kept_at.display()
        );
    }
}
