//! The pool that stream-ordered memory comes from: the simulated device has the default one.

use std::ffi::c_int;

use simulator::machine::{Command, Reply};

use super::{CUresult, Handle, answers, calls, code};
use crate::call;

/// The handle of the default pool.
const DEFAULT: Handle = 0x90_0000;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, a number of 64 bits.
const RELEASE_THRESHOLD: u32 = 4;

/// Why the simulated device does not know this pool, or this of it. On a GPU the real driver decides.
fn refused(pool: Handle, attribute: u32) -> Option<CUresult> {
    if call::gpu().is_some() {
        return None;
    }
    if pool != DEFAULT {
        return Some(code::INVALID_VALUE);
    }
    (attribute != RELEASE_THRESHOLD).then(|| {
        call::say("of a pool, the simulated device knows the release threshold only");
        code::NOT_SUPPORTED
    })
}

answers! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) require pool; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        // SAFETY: checked not to be null; the caller gives room for a handle.
        unsafe { *pool = DEFAULT };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetMemPool(pool: *mut Handle, device: c_int) require pool; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        // SAFETY: checked not to be null; the caller gives room for a handle.
        unsafe { *pool = DEFAULT };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceSetMemPool(device: c_int, pool: Handle) {
        match (device, pool) {
            (0, DEFAULT) => code::SUCCESS,
            (0, _) => code::INVALID_VALUE,
            _ => code::INVALID_DEVICE,
        }
    }
}

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut u64) {
        require value;
        command match refused(pool, attribute) {
            Some(code) => return code,
            None => Command::PoolThreshold,
        };
        // SAFETY: checked not to be null; this attribute is a number of 64 bits.
        sim Reply::Number(bytes) => unsafe { *value = bytes };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: *mut u64) {
        require value;
        command match refused(pool, attribute) {
            Some(code) => return code,
            None if attribute != RELEASE_THRESHOLD => Command::PoolThreshold,
            // SAFETY: checked not to be null; this attribute is a number of 64 bits.
            None => Command::PoolKeep { bytes: unsafe { *value } },
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolTrimTo(pool: Handle, bytes: usize) {
        command match refused(pool, RELEASE_THRESHOLD) {
            Some(code) => return code,
            None => Command::PoolTrim { bytes: bytes as u64 },
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemAllocFromPoolAsync(address: *mut Handle, bytes: usize, pool: Handle, stream: Handle) {
        require address;
        command match refused(pool, RELEASE_THRESHOLD) {
            Some(code) => return code,
            None => Command::AllocAsync { bytes: bytes as u64, stream },
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *address });
        // SAFETY: checked not to be null; the caller gives room for an address.
        sim Reply::Number(found) => unsafe { *address = found };
    }
}
