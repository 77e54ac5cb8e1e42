//! Each command knows the line that made it.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use trace::Record;
use trace::env;
use trace::lab_protocol::{Region, Request};
use trace::program::{Call, Program, Site};

use crate::cases::context;
use crate::{Case, RECORDED};

pub(crate) const CASES: &[Case] = &[
    ("a_helper_that_ends_in_a_call_is_named_by_its_own_line", a_helper_is_named),
    ("two_calls_on_one_line_have_a_column_each", two_calls_on_one_line_have_a_column_each),
    ("calls_in_a_closure_and_a_macro_are_named", calls_in_a_closure_and_a_macro_are_named),
    ("a_drop_is_named_by_the_end_of_the_block", a_drop_is_named_by_the_end_of_the_block),
    ("a_call_that_a_library_makes_is_named_by_the_line_that_called_it", a_library_makes_a_call),
];

/// Runs `body` in a region of its own, and gives the program so far.
pub(crate) fn program(body: impl FnOnce()) -> Program {
    let folder = tempfile::tempdir().unwrap();
    // A device in another process was told where to write.
    let path = std::env::var_os(RECORDED)
        .map_or_else(|| folder.path().join("record.json"), std::path::PathBuf::from);
    // SAFETY: the case is alone in its process, and has no other thread.
    unsafe { std::env::set_var(env::RECORD, &path) };
    lab::driver::load().unwrap();
    let source = Request::Source { directory: env!("CARGO_MANIFEST_DIR").to_owned() };
    context();
    lab::driver::ask(&source).unwrap();
    lab::driver::ask(&Request::RegionBegin(Region::default())).unwrap();
    body();
    lab::driver::ask(&Request::RegionEnd).unwrap();
    let json = std::fs::read(&path).expect("there is a record");
    let mut program = serde_json::from_slice::<Record>(&json).unwrap().program;
    let begins = program.steps.iter().rposition(|step| step.call == Call::RegionBegin).unwrap();
    // Of what was before the region only what made things matters.
    let mut index = 0;
    program.steps.retain(|step| {
        index += 1;
        let makes = matches!(
            step.call,
            Call::StreamCreate { .. } | Call::EventCreate { .. } | Call::FunctionGet { .. }
        );
        index > begins || makes
    });
    program
}

/// Runs `body`, and gives the calls that it made with the places that they came from.
fn calls(body: impl FnOnce(&Arc<CudaStream>)) -> Vec<(Call, Option<Site>)> {
    let stream = context().new_stream().unwrap();
    let program = program(|| body(&stream));
    let begin = program.steps.iter().position(|step| step.call == Call::RegionBegin).unwrap();
    let steps = program.steps[begin + 1..program.steps.len() - 1].iter();
    steps.map(|step| (step.call.clone(), program.site(step).cloned())).collect()
}

fn lines(calls: &[(Call, Option<Site>)]) -> Vec<u32> {
    let line = |(call, site): &(Call, Option<Site>)| {
        let site = site.as_ref().unwrap_or_else(|| panic!("{call:?} has no site"));
        assert_eq!(site.file, "tests/driver/lines.rs");
        site.line
    };
    calls.iter().map(line).collect()
}

/// Ends in the call itself: nothing is left to do afterwards.
fn helper(stream: &Arc<CudaStream>) -> Result<(), cudarc::driver::DriverError> {
    stream.synchronize() // the helper's own line
}
const HELPER: u32 = line!() - 2;

fn a_helper_is_named() {
    let calls = calls(|stream| helper(stream).unwrap());
    if !calls.is_empty() {
        assert_eq!(lines(&calls), [HELPER]);
    }
}

fn two_calls_on_one_line_have_a_column_each() {
    #[rustfmt::skip]
    let calls = calls(|stream| { stream.synchronize().unwrap(); stream.synchronize().unwrap(); });
    if !calls.is_empty() {
        assert_eq!(lines(&calls), [line!() - 2; 2]);
        let columns: Vec<_> = calls.iter().map(|(_, site)| site.clone().unwrap().column).collect();
        assert!(columns[0].is_some() && columns[0] < columns[1], "{columns:?}");
    }
}

/// As with a helper, the line is the one in here: that is where the call is written.
macro_rules! synchronize {
    ($stream:expr) => {
        $stream.synchronize().unwrap()
    };
}
const MACRO: u32 = line!() - 3;

fn calls_in_a_closure_and_a_macro_are_named() {
    let first = line!() + 2;
    let calls = calls(|stream| {
        let wait = || stream.synchronize().unwrap();
        wait();
        synchronize!(stream);
    });
    if !calls.is_empty() {
        assert_eq!(lines(&calls), [first, MACRO]);
    }
}

fn a_drop_is_named_by_the_end_of_the_block() {
    let first = line!() + 2;
    let calls = calls(|stream| {
        let data = stream.alloc_zeros::<u8>(64).unwrap();
        let _ = data.len();
    });
    if !calls.is_empty() {
        let kinds: Vec<_> = calls.iter().map(|(call, _)| call).collect();
        assert!(
            matches!(
                kinds[..],
                [Call::AllocAsync { .. }, Call::Memset { .. }, Call::FreeAsync { .. }]
            ),
            "{kinds:?}"
        );
        assert_eq!(lines(&calls), [first, first, first + 2]);
    }
}

/// The C library lies between the line and the call, and then one that the driver knows nothing of.
fn a_library_makes_a_call() {
    type Synchronize = unsafe extern "C" fn() -> i32;
    unsafe extern "C-unwind" {
        // POSIX. glibc's `pthread_once_t` is an `int` that starts as 0. Nobody reads a result.
        fn pthread_once(once: *mut i32, routine: Synchronize) -> i32;
        // Itanium C++ ABI, exception handling, 1.5.1: calls a function for each frame as long as it gives
        // 0. Nobody reads its two arguments.
        fn _Unwind_Backtrace(each: Synchronize, argument: *mut std::ffi::c_void) -> i32;
    }
    lab::driver::load().unwrap();
    // SAFETY: the library is loaded already, and the symbol's type is that of `cuda.h`.
    let synchronize: Synchronize = unsafe {
        let library = libc::dlopen(c"libcuda.so".as_ptr(), libc::RTLD_NOW);
        std::mem::transmute(libc::dlsym(library, c"cuCtxSynchronize".as_ptr()))
    };
    let first = line!() + 5;
    let calls = calls(|_| {
        let mut once = 0;
        // SAFETY: either calls a function that takes nothing and gives 0.
        unsafe {
            pthread_once(&raw mut once, synchronize);
            _Unwind_Backtrace(synchronize, std::ptr::null_mut());
        }
    });
    let mut lines = lines(&calls);
    lines.dedup();
    assert_eq!(lines, [first, first + 1]);
}
