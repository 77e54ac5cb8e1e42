//! Initialisation and devices: there is one simulated device.

use std::ffi::{c_char, c_int};

use super::{CUresult, answers, code};
use crate::call;

/// The version of the API that the simulated driver answers for: CUDA 12.8, as cudarc binds it.
const VERSION: c_int = 12080;

/// The simulated device's UUID: fixed, and plainly not a real one.
const UUID: [u8; 16] = *b"swim-in-streams\0";

/// # Safety
/// As `cuInit` of the driver API.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuInit(flags: u32) -> CUresult {
    match call::open() {
        Err(failure) => {
            call::say(&failure.why);
            failure.code
        }
        Ok(()) if flags != 0 => code::INVALID_VALUE,
        Ok(()) => call::gpu().map_or(code::SUCCESS, |gpu| gpu.init()),
    }
}

answers! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VERSION.html>
    fn cuDriverGetVersion(version: *mut c_int) require version; {
        // SAFETY: checked not to be null; the caller gives room for an int.
        unsafe { *version = VERSION };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetCount(count: *mut c_int) require count; {
        // SAFETY: as above.
        unsafe { *count = 1 };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) require device; {
        if ordinal != 0 {
            return code::INVALID_DEVICE;
        }
        // SAFETY: as above.
        unsafe { *device = 0 };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) require name; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        let Ok(facts) = call::device_facts() else { return code::NOT_INITIALIZED };
        let room = usize::try_from(length).unwrap_or(0).saturating_sub(1);
        let bytes = &facts.name.as_bytes()[..facts.name.len().min(room)];
        // SAFETY: the caller gives room for `length` bytes, and `bytes` is at least one shorter.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), name.cast(), bytes.len());
            *name.add(bytes.len()) = 0;
        }
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) require uuid; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        // SAFETY: checked not to be null; the caller gives room for 16 bytes.
        unsafe { *uuid = UUID };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) require uuid; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        // SAFETY: checked not to be null; the caller gives room for 16 bytes.
        unsafe { *uuid = UUID };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) require bytes; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        let Ok(facts) = call::device_facts() else { return code::NOT_INITIALIZED };
        // SAFETY: checked not to be null; the caller gives room for a size.
        unsafe { *bytes = facts.memory_bytes as usize };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: u32, device: c_int) require value; {
        if device != 0 {
            return code::INVALID_DEVICE;
        }
        let Ok(facts) = call::device_facts() else { return code::NOT_INITIALIZED };
        let found = facts.attributes.iter().find(|(number, _)| *number == attribute);
        // SAFETY: checked not to be null. What is not modelled is not there: 0.
        unsafe { *value = found.map_or(0, |(_, value)| *value) };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE__DEPRECATED.html>
    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) require major, minor; {
        const MAJOR: u32 = 75;
        const MINOR: u32 = 76;
        // SAFETY: checked not to be null.
        match unsafe { cuDeviceGetAttribute(major, MAJOR, device) } {
            // SAFETY: checked not to be null.
            code::SUCCESS => unsafe { cuDeviceGetAttribute(minor, MINOR, device) },
            failed => failed,
        }
    }
}
