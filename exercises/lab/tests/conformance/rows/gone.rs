//! Handles that were destroyed, and handles that never existed.
//!
//! `cuda.h` says of an invalid handle that it is answered with `CUDA_ERROR_INVALID_HANDLE`, and nowhere
//! what becomes of one that was valid once: a driver may look into memory that is no longer its own. What
//! was measured of destroyed events, `CUDA_ERROR_CONTEXT_IS_DESTROYED`, is expected of all that is done
//! to one.

use std::ptr;

use cudarc::driver::sys;

use crate::bench::{Bench, Event, Kind, Stream, cu, launch_raw};
use crate::row::{CONTEXT_IS_DESTROYED, Fact, INVALID_HANDLE, NOT_SUPPORTED, Result, Row, SUCCESS};

/// A module that has been unloaded, and a function of it.
fn unloaded(bench: &Bench) -> Result<(sys::CUmodule, sys::CUfunction)> {
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    cu!(cuModuleLoadData(&mut module, bench.image())).result()?;
    cu!(cuModuleGetFunction(&mut function, module, c"map_a".as_ptr())).result()?;
    cu!(cuModuleUnload(module)).result()?;
    Ok((module, function))
}

/// An event that has been destroyed.
fn destroyed() -> Result<sys::CUevent> {
    let event = Event::new()?;
    let handle = event.handle();
    event.destroy()?;
    Ok(handle)
}

/// A handle that nobody gave.
fn nobodys<T>() -> *mut T {
    ptr::without_provenance_mut(0x1230)
}

fn code(code: sys::CUresult) -> Result<Vec<Fact>> {
    Ok(vec![Fact::Code(code)])
}

fn launch(bench: &Bench, function: sys::CUfunction) -> Result<Vec<Fact>> {
    let stream = Stream::new(Kind::NonBlocking)?;
    code(launch_raw(function, stream.handle(), [1, 256, 0], bench.scratch(), 1024, 1))
}

pub(super) fn rows() -> Vec<Row> {
    let row = |what: &str, expect: Fact, body: fn(&Bench) -> Result<Vec<Fact>>| {
        Row::new(format!("codes: {what}"), &[expect], body).undefined()
    };
    let mut rows = vec![
        row("launching a function whose module was unloaded", INVALID_HANDLE, |bench| {
            launch(bench, unloaded(bench)?.1)
        }),
        row("a function of a module that was unloaded", INVALID_HANDLE, |bench| {
            let ((module, _), mut function) = (unloaded(bench)?, ptr::null_mut());
            code(cu!(cuModuleGetFunction(&mut function, module, c"map_a".as_ptr())))
        }),
        row("unloading a module twice", INVALID_HANDLE, |bench| {
            code(cu!(cuModuleUnload(unloaded(bench)?.0)))
        }),
        row("recording an event that was destroyed", CONTEXT_IS_DESTROYED, |_| {
            let stream = Stream::new(Kind::NonBlocking)?;
            code(cu!(cuEventRecord(destroyed()?, stream.handle())))
        }),
        row("synchronizing an event that was destroyed", CONTEXT_IS_DESTROYED, |_| {
            code(cu!(cuEventSynchronize(destroyed()?)))
        }),
        row("elapsed time to an event that was destroyed", CONTEXT_IS_DESTROYED, |bench| {
            let stream = Stream::new(Kind::NonBlocking)?;
            let (start, end) =
                (Event::recorded(stream.handle())?, Event::recorded(stream.handle())?);
            bench.synchronize()?;
            let handle = end.handle();
            end.destroy()?;
            let mut ms = 0.0;
            code(cu!(cuEventElapsedTime_v2(&mut ms, start.handle(), handle)))
        }),
        row("destroying an event twice", CONTEXT_IS_DESTROYED, |_| {
            code(cu!(cuEventDestroy_v2(destroyed()?)))
        }),
        row("launching a function that nobody gave", INVALID_HANDLE, |bench| {
            launch(bench, nobodys())
        }),
        row("synchronizing a stream that nobody gave", INVALID_HANDLE, |_| {
            code(cu!(cuStreamSynchronize(nobodys())))
        }),
        row("querying an event that nobody gave", INVALID_HANDLE, |_| {
            code(cu!(cuEventQuery(nobodys())))
        }),
        row("unloading a module that nobody gave", INVALID_HANDLE, |_| {
            code(cu!(cuModuleUnload(nobodys())))
        }),
    ];
    rows.push(
        Row::new(
            "codes: a context of one's own, made and destroyed",
            &[SUCCESS, SUCCESS],
            |bench| {
                let mut context = ptr::null_mut();
                let made = cu!(cuCtxCreate_v2(&mut context, 0, bench.device));
                if made != sys::CUresult::CUDA_SUCCESS {
                    return code(made);
                }
                Ok(vec![Fact::Code(made), Fact::Code(cu!(cuCtxDestroy_v2(context)))])
            },
        )
        .alone()
        .gap(&[NOT_SUPPORTED]),
    );
    rows
}
