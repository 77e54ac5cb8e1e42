//! Initialisation and devices: there are two simulated ones, of one kind, with a link between them.

use std::ffi::{c_char, c_int};

use trace::program::DEVICES;

use super::{CUresult, answers, code, passed_through};
use crate::call;
use crate::say::say;

/// The version of the API that the simulated driver answers for: CUDA 12.8, as cudarc binds it.
const VERSION: c_int = 12080;

/// The simulated devices' UUIDs: fixed, and plainly not real ones. The last byte says which it is.
fn uuid(device: usize) -> [u8; 16] {
    let mut uuid = *b"swim-in-streams\0";
    uuid[15] = device as u8;
    uuid
}

/// The number of a device that there is.
pub(crate) fn known(device: c_int) -> Option<usize> {
    usize::try_from(device).ok().filter(|&device| device < DEVICES as usize)
}

/// The answers of `cuDeviceGetP2PAttribute` for two devices with a link, by
/// `CUdevice_P2PAttribute`: the best of all ways, access, native atomics, arrays (as two H200 with
/// NVLink do).
const PEER_ATTRIBUTES: [c_int; 4] = [0, 1, 1, 1];

/// # Safety
/// As `cuInit` of the driver API.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuInit(flags: u32) -> CUresult {
    match call::open() {
        Err(failure) => {
            say(&failure.why);
            failure.code
        }
        Ok(()) if flags != 0 => code::INVALID_VALUE,
        Ok(()) => call::gpu().map_or(code::SUCCESS, |gpu| {
            passed_through::connect(|name| gpu.find(name));
            gpu.init()
        }),
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
        unsafe { *count = DEVICES as c_int };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) require device; {
        if known(ordinal).is_none() {
            return code::INVALID_DEVICE;
        }
        // SAFETY: as above.
        unsafe { *device = ordinal };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) require name; {
        if known(device).is_none() {
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
    fn cuDeviceGetUuid(id: *mut [u8; 16], device: c_int) require id; {
        let Some(device) = known(device) else { return code::INVALID_DEVICE };
        // SAFETY: checked not to be null; the caller gives room for 16 bytes.
        unsafe { *id = uuid(device) };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetUuid_v2(id: *mut [u8; 16], device: c_int) require id; {
        let Some(device) = known(device) else { return code::INVALID_DEVICE };
        // SAFETY: checked not to be null; the caller gives room for 16 bytes.
        unsafe { *id = uuid(device) };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) require bytes; {
        if known(device).is_none() {
            return code::INVALID_DEVICE;
        }
        let Ok(facts) = call::device_facts() else { return code::NOT_INITIALIZED };
        // SAFETY: checked not to be null; the caller gives room for a size.
        unsafe { *bytes = facts.memory_bytes as usize };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: u32, device: c_int) require value; {
        if known(device).is_none() {
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

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html>
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) require can; {
        let (Some(device), Some(peer)) = (known(device), known(peer)) else {
            return code::INVALID_DEVICE;
        };
        // SAFETY: checked not to be null; the caller gives room for an int.
        unsafe { *can = c_int::from(device != peer) };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html>
    fn cuDeviceGetP2PAttribute(value: *mut c_int, attribute: u32, from: c_int, to: c_int) require value; {
        let (Some(from), Some(to)) = (known(from), known(to)) else { return code::INVALID_DEVICE };
        let asked = (attribute as usize).checked_sub(1).and_then(|at| PEER_ATTRIBUTES.get(at));
        let Some(&found) = asked.filter(|_| from != to) else { return code::INVALID_VALUE };
        // SAFETY: checked not to be null; the caller gives room for an int.
        unsafe { *value = found };
        code::SUCCESS
    }
}
