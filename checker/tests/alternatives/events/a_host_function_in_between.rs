//! A function of the host in the stream counts the laps.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use cudarc::driver::sys;
use lab::Result;
use lab::events::Relay;

/// Runs the laps.
pub fn relay(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let emptied = [
        context.new_event(None)?,
        context.new_event(None)?,
        context.new_event(None)?,
        context.new_event(None)?,
    ];
    static DONE: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn count(_: *mut c_void) {
        DONE.fetch_add(1, Ordering::Relaxed);
    }

    let mut course = relay.allocate()?;

    // The clock runs from here to the end of the closure.
    course.region(|laps, slots| {
        let expected = DONE.load(Ordering::Relaxed) + laps.len();
        for lap in laps {
            let slot = &mut slots[lap.slot];
            upload.wait(&emptied[lap.slot])?;
            upload.memcpy_htod(&lap.input, &mut slot.data)?;
            compute.join(&upload)?;
            slot.map(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&slot.data, &mut lap.output)?;
            emptied[lap.slot].record(&download)?;
            // SAFETY: the function takes nothing and makes no call of CUDA.
            unsafe {
                sys::cuLaunchHostFunc(download.cu_stream(), Some(count), std::ptr::null_mut())
            }
            .result()?;
        }
        context.synchronize()?;
        assert_eq!(DONE.load(Ordering::Relaxed), expected);
        Ok(())
    })
}
