//! Calls that failed, for the lab to name the one that a program gives up over.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::sync::Mutex;

use trace::failed_call::FailedCall;

use crate::abi::{CUresult, code, error};
use crate::call::{self, lock};

/// The first call that failed with each code: after an error that stays, destructors fail too.
static FIRST: Mutex<BTreeMap<CUresult, FailedCall>> = Mutex::new(BTreeMap::new());

/// Passes a call's result on, and keeps who had it if it is the first of its kind.
pub(crate) fn noted(call: &str, result: CUresult) -> CUresult {
    let is_an_answer = result == code::NOT_READY && call.contains("Query");
    if result != code::SUCCESS && !is_an_answer && !lock(&FIRST).contains_key(&result) {
        let place = call::place();
        let failed = FailedCall { call: call.to_owned(), place, code: name(result) };
        lock(&FIRST).entry(result).or_insert(failed);
    }
    result
}

/// The first call that failed so.
pub(crate) fn first(result: CUresult) -> Option<FailedCall> {
    lock(&FIRST).get(&result).cloned()
}

fn name(result: CUresult) -> String {
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: there is room for a pointer. It is set to a string that is never changed or
    // freed.
    unsafe {
        match error::cuGetErrorName(result, &raw mut name) {
            code::SUCCESS if !name.is_null() => CStr::from_ptr(name).to_string_lossy().into_owned(),
            _ => format!("CUDA_ERROR_{result}"),
        }
    }
}
