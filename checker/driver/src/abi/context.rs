//! Contexts: there is the primary one of each device, and each thread has a stack of them.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use simulator::machine::{Command, ContextCommand};
use trace::program::DEVICES;

use super::device::known as device_known;
use super::{CUresult, Handle, answers, calls, code};
use crate::call;
use crate::contexts::{current_device, set_current_device, set_current_real};
use crate::gpu::Gpu;

/// The handle of the first device's primary context.
const PRIMARY: Handle = 0xc0_0000;
/// From one device's to the next.
const STRIDE: Handle = 0x1_0000;

/// Flags that were set for each; they change nothing on the simulated device.
static FLAGS: [AtomicU32; DEVICES as usize] = [const { AtomicU32::new(0) }; DEVICES as usize];
/// How often each was retained.
static RETAINED: [AtomicU32; DEVICES as usize] = [const { AtomicU32::new(0) }; DEVICES as usize];

thread_local! {
    /// The thread's stack of contexts; the last is the current one.
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The device of a context.
fn device_of(context: Handle) -> Option<u32> {
    let device = u32::try_from(context.checked_sub(PRIMARY)? / STRIDE).ok()?;
    (device < DEVICES && context == PRIMARY + Handle::from(device) * STRIDE).then_some(device)
}

fn is_context(context: Handle) -> bool {
    context == 0 || device_of(context).is_some()
}

/// The stack of the thread has changed.
fn follow() {
    let context = STACK.with_borrow(|stack| stack.last().copied());
    set_current_device(context.and_then(device_of).unwrap_or(0));
}

/// Another context of a GPU may be current in this thread.
fn follow_real() {
    if let Some((context, device)) = call::gpu().and_then(Gpu::current_context) {
        set_current_real(context, device);
    }
}

/// Whether a context is that of the other device, as calls about access name it.
fn check_peer(context: Handle) -> Result<(), CUresult> {
    match device_of(context) {
        None => Err(code::INVALID_CONTEXT),
        Some(device) if device == current_device() => Err(code::PEER_ACCESS_UNSUPPORTED),
        Some(_) => Ok(()),
    }
}

/// The command that enables or disables access. On a GPU the real driver decides.
fn access(context: Handle, flags: u32, enabled: bool) -> Result<Command, CUresult> {
    if call::gpu().is_none() {
        if flags != 0 {
            return Err(code::INVALID_VALUE);
        }
        check_peer(context)?;
    }
    Ok(Command::Context(ContextCommand::PeerAccess { by: current_device(), pool: false, enabled }))
}

answers! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) require context; {
        let Some(device) = device_known(device) else { return code::INVALID_DEVICE };
        if !call::is_open() {
            return code::NOT_INITIALIZED;
        }
        RETAINED[device].fetch_add(1, Ordering::Relaxed);
        // SAFETY: checked not to be null; the caller gives room for a handle.
        unsafe { *context = PRIMARY + device as Handle * STRIDE };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let Some(device) = device_known(device) else { return code::INVALID_DEVICE };
        let less = |count: u32| count.checked_sub(1);
        match RETAINED[device].fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(_) => code::SUCCESS,
            Err(_) => code::INVALID_CONTEXT,
        }
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut u32, active: *mut c_int) require flags, active; {
        let Some(device) = device_known(device) else { return code::INVALID_DEVICE };
        // SAFETY: checked not to be null.
        unsafe {
            *flags = FLAGS[device].load(Ordering::Relaxed);
            *active = c_int::from(RETAINED[device].load(Ordering::Relaxed) > 0);
        }
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html>
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: u32) {
        let Some(device) = device_known(device) else { return code::INVALID_DEVICE };
        FLAGS[device].store(flags, Ordering::Relaxed);
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
    fn cuCtxSetCurrent(context: Handle) gpu follow_real(); {
        if !is_context(context) {
            return code::INVALID_CONTEXT;
        }
        STACK.with_borrow_mut(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        follow();
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxPushCurrent_v2(context: Handle) gpu follow_real(); {
        if !is_context(context) || context == 0 {
            return code::INVALID_CONTEXT;
        }
        STACK.with_borrow_mut(|stack| stack.push(context));
        follow();
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxPopCurrent_v2(context: *mut Handle) gpu follow_real(); {
        let Some(popped) = STACK.with_borrow_mut(Vec::pop) else { return code::INVALID_CONTEXT };
        follow();
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
        unsafe { *device = current_device() as c_int };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxSetFlags(flags: u32) {
        FLAGS[current_device() as usize].store(flags, Ordering::Relaxed);
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
    fn cuCtxGetFlags(flags: *mut u32) require flags; {
        // SAFETY: checked not to be null; the caller gives room for an int.
        unsafe { *flags = FLAGS[current_device() as usize].load(Ordering::Relaxed) };
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
        command Command::Context(ContextCommand::Synchronize);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html>
    fn cuCtxEnablePeerAccess(context: Handle, flags: u32) {
        command match access(context, flags, true) {
            Ok(command) => command,
            Err(code) => return code,
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html>
    fn cuCtxDisablePeerAccess(context: Handle) {
        command match access(context, 0, false) {
            Ok(command) => command,
            Err(code) => return code,
        };
    }
}
