//! The pool that stream-ordered memory comes from: the simulated device has the default one.

use std::ffi::c_int;

use simulator::machine::{Command, Reply};

use super::{CUresult, Handle, answers, calls, code};
use crate::call;

/// The handle of the default pool.
const DEFAULT: Handle = 0x90_0000;

/// Attributes of a pool, `CU_MEMPOOL_ATTR_…`: numbers of 64 bits.
mod attribute {
    pub(super) const RELEASE_THRESHOLD: u32 = 4;
    pub(super) const RESERVED_MEM_CURRENT: u32 = 5;
    pub(super) const RESERVED_MEM_HIGH: u32 = 6;
    pub(super) const USED_MEM_CURRENT: u32 = 7;
    pub(super) const USED_MEM_HIGH: u32 = 8;
}

/// Why the simulated device does not know this pool, or this of it. On a GPU the real driver decides.
fn refused(pool: Handle, attribute: u32) -> Option<CUresult> {
    if call::gpu().is_some() {
        return None;
    }
    if pool != DEFAULT || !(1..=attribute::USED_MEM_HIGH).contains(&attribute) {
        return Some(code::INVALID_VALUE);
    }
    (attribute < attribute::RELEASE_THRESHOLD).then(|| {
        call::say("how a pool reuses memory is not up to the program on the simulated device");
        code::NOT_SUPPORTED
    })
}

/// What the simulated device is asked for.
///
/// # Safety
///
/// `value` is a number of 64 bits.
unsafe fn setting(attribute: u32, value: *const u64) -> Result<Command, CUresult> {
    // SAFETY: as the caller promises.
    let bytes = unsafe { *value };
    match attribute {
        attribute::RELEASE_THRESHOLD => Ok(Command::PoolKeep { bytes }),
        // The most that there was can be forgotten and nothing else (measured: 1 on all else).
        attribute::RESERVED_MEM_HIGH if bytes == 0 => Ok(Command::PoolReset { of_reserved: true }),
        attribute::USED_MEM_HIGH if bytes == 0 => Ok(Command::PoolReset { of_reserved: false }),
        _ if call::gpu().is_some() => Ok(Command::PoolFacts),
        _ => Err(code::INVALID_VALUE),
    }
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
            None => Command::PoolFacts,
        };
        // SAFETY: checked not to be null; these attributes are numbers of 64 bits.
        sim Reply::Pool(facts) => unsafe {
            *value = match attribute {
                attribute::RESERVED_MEM_CURRENT => facts.reserved,
                attribute::RESERVED_MEM_HIGH => facts.reserved_high,
                attribute::USED_MEM_CURRENT => facts.used,
                attribute::USED_MEM_HIGH => facts.used_high,
                _ => facts.threshold,
            };
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: *mut u64) {
        require value;
        command match refused(pool, attribute) {
            Some(code) => return code,
            // Those of 32 bits are not ours.
            None if attribute < attribute::RELEASE_THRESHOLD => Command::PoolFacts,
            // SAFETY: checked not to be null; these attributes are numbers of 64 bits.
            None => match unsafe { setting(attribute, value) } {
                Ok(command) => command,
                Err(code) => return code,
            },
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolTrimTo(pool: Handle, bytes: usize) {
        command match refused(pool, attribute::RELEASE_THRESHOLD) {
            Some(code) => return code,
            None => Command::PoolTrim { bytes: bytes as u64 },
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemAllocFromPoolAsync(address: *mut Handle, bytes: usize, pool: Handle, stream: Handle) {
        require address;
        command match refused(pool, attribute::RELEASE_THRESHOLD) {
            Some(code) => return code,
            None => Command::AllocAsync { bytes: bytes as u64, stream },
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *address });
        // SAFETY: checked not to be null; the caller gives room for an address.
        sim Reply::Number(found) => unsafe { *address = found };
    }
}
