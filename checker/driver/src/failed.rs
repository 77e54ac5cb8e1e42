//! Calls that failed, for the lab to name the one that a program gives up over.

use std::collections::BTreeMap;
use std::sync::Mutex;

use trace::failed_call::FailedCall;

use crate::call;
use crate::cuda::{CUresult, code};
use crate::errors;
use crate::lock::lock;

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
    let real = call::gpu().and_then(|gpu| gpu.error_name(result));
    let known = || errors::find(result).map(|(_, name, _)| name.to_string_lossy().into_owned());
    real.or_else(known).unwrap_or_else(|| format!("CUDA_ERROR_{result}"))
}
