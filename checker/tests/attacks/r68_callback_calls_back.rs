//! R68: a host function calls the driver, which waits for it

use lab::Result;
use lab::first_launch::Session;

extern "C" fn again(_: *mut std::ffi::c_void) {
    // SAFETY: the call takes nothing.
    let code = unsafe { cudarc::driver::sys::cuCtxSynchronize() };
    println!("{code:?}");
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let maker = session.context().new_stream()?;
    for _ in 0..100 {
        // SAFETY: the function takes nothing.
        unsafe { cudarc::driver::sys::cuLaunchHostFunc(maker.cu_stream(), Some(again), std::ptr::null_mut()) };
    }
    maker.synchronize()?;
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    })
}
