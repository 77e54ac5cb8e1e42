//! Capture by several host threads: who may end one, and whom one keeps from what. Documented in the driver
//! API's chapter on streams, under `cuStreamBeginCapture` and `cuThreadExchangeStreamCaptureMode`. That
//! an end in the wrong thread fails and yet ends the capture is measured.

use std::ptr;

use cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode};

use super::graphs::{GLOBAL, INVALIDATED, RELAXED, UNSUPPORTED, begin, end, within};
use crate::bench::{Kind, Stream, cu};
use crate::row::{Fact, Result, Row, SUCCESS};

const KIND: Kind = Kind::NonBlocking;
const THREAD_LOCAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
const WRONG_THREAD: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);

/// What another host thread gets, in the same context.
fn elsewhere(call: impl FnOnce() -> CUresult + Send) -> Result<CUresult> {
    let mut context = ptr::null_mut();
    cu!(cuCtxGetCurrent(&mut context)).result()?;
    let context = context.expose_provenance();
    Ok(lab::thread::scope(|scope| {
        let started = scope.spawn(move || {
            let context = ptr::with_exposed_provenance_mut(context);
            match cu!(cuCtxSetCurrent(context)) {
                CUresult::CUDA_SUCCESS => call(),
                failed => failed,
            }
        });
        let thread = started.expect("a thread can be started");
        thread.join().expect("the thread does not panic")
    }))
}

fn allocate() -> CUresult {
    let mut address = 0;
    let code = cu!(cuMemAlloc_v2(&mut address, 4096));
    // It is 4 KiB; freeing it would be one more call that is looked at.
    code
}

/// With another mode of the calling thread.
fn with_mode(mode: CUstreamCaptureMode, call: impl FnOnce() -> CUresult) -> CUresult {
    let mut mode = mode;
    match cu!(cuThreadExchangeStreamCaptureMode(&mut mode)) {
        CUresult::CUDA_SUCCESS => {}
        failed => return failed,
    }
    let code = call();
    match cu!(cuThreadExchangeStreamCaptureMode(&mut mode)) {
        CUresult::CUDA_SUCCESS => code,
        failed => failed,
    }
}

/// A capture that another thread tries to end, and then the one that began it.
fn ended_elsewhere(mode: CUstreamCaptureMode) -> Result<Vec<Fact>> {
    let stream = Stream::new(KIND)?;
    begin(&stream, mode)?;
    let handle = stream.handle().expose_provenance();
    let code = elsewhere(move || {
        let stream: sys::CUstream = ptr::with_exposed_provenance_mut(handle);
        let mut graph = ptr::null_mut();
        cu!(cuStreamEndCapture(stream, &mut graph))
    });
    let (ended, _) = end(&stream);
    Ok(vec![Fact::Code(code?), Fact::Code(ended)])
}

pub(super) fn rows() -> Vec<Row> {
    const ILLEGAL_STATE: Fact = Fact::Code(CUresult::CUDA_ERROR_ILLEGAL_STATE);
    let name = |what: &str| format!("capture: {what}");
    let rows = vec![
        Row::new(name("ended in another thread"), &[WRONG_THREAD, ILLEGAL_STATE], |_| {
            ended_elsewhere(GLOBAL)
        }),
        Row::new(
            name("ended in another thread, in thread-local mode"),
            &[WRONG_THREAD, ILLEGAL_STATE],
            |_| ended_elsewhere(THREAD_LOCAL),
        ),
        Row::new(
            name("ended in another thread, in relaxed mode"),
            &[SUCCESS, ILLEGAL_STATE],
            |_| ended_elsewhere(RELAXED),
        ),
        Row::new(name("cuMemAlloc in another thread"), &[UNSUPPORTED, INVALIDATED], |bench| {
            within(bench, KIND, GLOBAL, |_| elsewhere(allocate))
        }),
        Row::new(
            name("cuMemAlloc in another thread, which is in thread-local mode"),
            &[SUCCESS, SUCCESS],
            |bench| {
                within(bench, KIND, GLOBAL, |_| elsewhere(|| with_mode(THREAD_LOCAL, allocate)))
            },
        ),
        Row::new(
            name("cuMemAlloc in another thread, beside one in thread-local mode"),
            &[SUCCESS, SUCCESS],
            |bench| within(bench, KIND, THREAD_LOCAL, |_| elsewhere(allocate)),
        ),
        Row::new(name("cuMemAlloc in thread-local mode"), &[UNSUPPORTED, INVALIDATED], |bench| {
            within(bench, KIND, THREAD_LOCAL, |_| Ok(allocate()))
        }),
        Row::new(
            name("cuMemAlloc in a thread that is in relaxed mode"),
            &[SUCCESS, SUCCESS],
            |bench| within(bench, KIND, GLOBAL, |_| Ok(with_mode(RELAXED, allocate))),
        ),
    ];
    rows.into_iter().map(Row::alone).collect()
}
