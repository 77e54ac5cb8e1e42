//! Contexts: there is one, the primary context of the one device, and each thread holds it or not.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use simulator::machine::Command;

use super::{Handle, answers, calls, code};
use crate::call;

/// The handle of the primary context.
const PRIMARY: Handle = 0xc0_0000;

/// Flags that were set for it; they change nothing on the simulated device.
static FLAGS: AtomicU32 = AtomicU32::new(0);
/// How often it was retained.
static RETAINED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The thread's stack of contexts; the last is the current one.
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

fn is_context(context: Handle) -> bool {
    context == 0 || context == PRIMARY
}

answers! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) require context; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        if !call::is_open() {
            return code::NOT_INITIALIZED;
        }
        RETAINED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: checked not to be null; the caller gives room for a handle.
        unsafe { *context = PRIMARY };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        let less = |count: u32| count.checked_sub(1);
        match RETAINED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(_) => code::SUCCESS,
            Err(_) => code::INVALID_CONTEXT,
        }
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut u32, active: *mut c_int) require flags, active; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        // SAFETY: checked not to be null.
        unsafe {
            *flags = FLAGS.load(Ordering::Relaxed);
            *active = c_int::from(RETAINED.load(Ordering::Relaxed) > 0);
        }
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: u32) {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        FLAGS.store(flags, Ordering::Relaxed);
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxGetCurrent(context: *mut Handle) require context; {
        let current = STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0));
        // SAFETY: checked not to be null; the caller gives room for a handle.
        unsafe { *context = current };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxSetCurrent(context: Handle) {
        if !is_context(context) {
            return code::INVALID_CONTEXT;
        }
        STACK.with_borrow_mut(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxPushCurrent_v2(context: Handle) {
        if !is_context(context) || context == 0 {
            return code::INVALID_CONTEXT;
        }
        STACK.with_borrow_mut(|stack| stack.push(context));
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxPopCurrent_v2(context: *mut Handle) {
        let Some(popped) = STACK.with_borrow_mut(Vec::pop) else { return code::INVALID_CONTEXT };
        if !context.is_null() {
            // SAFETY: not null; the caller gives room for a handle.
            unsafe { *context = popped };
        }
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxGetDevice(device: *mut c_int) require device; {
        if STACK.with_borrow(Vec::is_empty) {
            return code::INVALID_CONTEXT;
        }
        // SAFETY: checked not to be null; the caller gives room for an int.
        unsafe { *device = 0 };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxSetFlags(flags: u32) {
        FLAGS.store(flags, Ordering::Relaxed);
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxGetFlags(flags: *mut u32) require flags; {
        // SAFETY: checked not to be null; the caller gives room for an int.
        unsafe { *flags = FLAGS.load(Ordering::Relaxed) };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        let Ok(facts) = call::device_facts() else { return code::NOT_INITIALIZED };
        if !least.is_null() {
            // SAFETY: not null; the caller gives room for an int.
            unsafe { *least = 0 };
        }
        if !greatest.is_null() {
            // SAFETY: not null; the caller gives room for an int.
            unsafe { *greatest = facts.highest_priority };
        }
        code::SUCCESS
    }
}

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxSynchronize() {
        command Command::ContextSynchronize;
    }
}
